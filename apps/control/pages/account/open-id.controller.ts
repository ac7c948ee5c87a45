import { Get, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { cookieIn, cookieOf, maxWaitingMs, type OpenIdProvider, Outbound, People, PublicUrl, Visitors } from '#edge';
import { TelemetryError } from '#model';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { ownAddress, Redirect, type Shown } from '../shown.js';
import { signInPage } from './sign-in-page.js';

/** What a browser keeps while its user is at the provider. */
const cookie = 'headwater_openid';
const callback = '/sign-in/openid/callback';

/**
 * The way in by an OpenID provider. Both steps are plain links: whoever follows the first changes nothing, and what the second brings counts
 * only in the browser that has taken the first.
 */
@Pages('sign-in/openid')
export class OpenIdPages {
  constructor(
    private readonly outbound: Outbound,
    private readonly people: People,
    private readonly visitors: Visitors,
    private readonly publicUrl: PublicUrl,
  ) {}

  @Get()
  begin(
    @Query('next') next: unknown,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Redirect | Shown> {
    const goOn = ownAddress(next);
    return this.#orForm(request, goOn, async (provider) => {
      const { to, note } = await provider.begin(this.publicUrl.link(callback), goOn);
      void reply.header('set-cookie', cookieOf(cookie, note, maxWaitingMs / 1000, this.publicUrl));
      return new Redirect(to);
    });
  }

  @Get('callback')
  finish(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Redirect | Shown> {
    return this.#orForm(request, '/', async (provider) => {
      const note = cookieIn(request.headers.cookie, cookie, this.publicUrl);
      void reply.header('set-cookie', cookieOf(cookie, undefined, 0, this.publicUrl));
      const { who, next } = await provider.finish(new URL(this.publicUrl.link(request.url)), note);
      const [, secret = ''] = /^\/join\/([\w-]+)$/.exec(next) ?? [];
      await this.visitors.enter(await this.people.enter(who, secret), request, reply);
      // An invitation that has made the account is used up; with one that is left somebody joins who had an account.
      return new Redirect(secret === '' || this.people.invitationOf(secret) ? next : '/');
    });
  }

  /** What a step leads to; where it fails, the form that offers the other way in too. */
  async #orForm(request: FastifyRequest, next: string, step: (provider: OpenIdProvider) => Promise<Redirect>): Promise<Redirect | Shown> {
    const { provider } = this.outbound;
    if (provider.name === undefined) throw new TelemetryError('unknown_route', 'The operator of this server has named no OpenID provider.');
    try {
      return await step(provider);
    } catch (error) {
      return refused(request, error, (problem) => signInPage({ next, email: '', provider: provider.name, problem }));
    }
  }
}
