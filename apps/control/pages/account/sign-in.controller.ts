import { Get, Post, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { originOf, Outbound, Sessions, SignIn, Visitors } from '#edge';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { ownAddress, Redirect, type Shown } from '../shown.js';
import { signInPage } from './sign-in-page.js';

/** The way in and out for people. */
@Pages()
export class SignInPages {
  constructor(
    private readonly signIn: SignIn,
    private readonly sessions: Sessions,
    private readonly visitors: Visitors,
    private readonly outbound: Outbound,
  ) {}

  @Get('sign-in')
  form(@Query('next') next: unknown, @Req() request: FastifyRequest): Html | Redirect {
    const to = ownAddress(next);
    return this.visitors.personOf(request) ? new Redirect(to) : signInPage({ next: to, email: '', provider: this.outbound.provider.name });
  }

  @Post('sign-in')
  async enter(
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Redirect | Shown> {
    const next = ownAddress(form.get('next'));
    const [email, password] = [typed(form, 'email'), typed(form, 'password')];
    try {
      const { token } = await this.signIn.signIn({ email, password }, originOf(request), this.visitors.tokenOf(request));
      this.visitors.give(reply, token);
      return new Redirect(next);
    } catch (error) {
      return refused(request, error, (problem) => signInPage({ next, email, provider: this.outbound.provider.name, problem }));
    }
  }

  @Post('sign-out')
  async leave(@Req() request: FastifyRequest, @Res({ passthrough: true }) reply: FastifyReply): Promise<Redirect> {
    const person = this.visitors.personOf(request);
    if (person) await this.sessions.end(person.accountId, person.sessionId);
    this.visitors.give(reply, undefined);
    return new Redirect('/sign-in');
  }
}
