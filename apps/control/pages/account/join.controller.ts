import { Get, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Organizations, Outbound, People, Visitors } from '#edge';
import { TelemetryError } from '#model';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, type Shown } from '../shown.js';
import { joinPage, resetPage, type JoinForm } from './join-page.js';

/** Where the links lead that people are sent: to belong to an organization, and to set another password. */
@Pages()
export class JoinPages {
  constructor(
    private readonly people: People,
    private readonly organizations: Organizations,
    private readonly visitors: Visitors,
    private readonly outbound: Outbound,
  ) {}

  @Get('join/:secret')
  invitation(@Param('secret') secret: string, @Req() request: FastifyRequest): Html {
    return joinPage(this.#joinForm(secret, request));
  }

  @Post('join/:secret')
  async join(
    @Param('secret') secret: string,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Redirect | Shown> {
    const person = this.visitors.personOf(request);
    const [email, password] = [typed(form, 'email'), typed(form, 'password')];
    try {
      if (person && form.has('join')) await this.people.join(secret, person);
      else await this.visitors.enter(await this.people.signUp(secret, { email, password }, request.ip), request, reply);
      return new Redirect('/');
    } catch (error) {
      return refused(request, error, (problem) => joinPage({ ...this.#joinForm(secret, request), email, problem }));
    }
  }

  @Get('reset/:secret')
  reset(@Param('secret') secret: string): Html {
    return resetPage({ secret, email: this.#resetEmail(secret) });
  }

  @Post('reset/:secret')
  async setPassword(
    @Param('secret') secret: string,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Redirect | Shown> {
    const email = this.#resetEmail(secret);
    try {
      await this.visitors.enter(await this.people.resetPassword(secret, typed(form, 'password')), request, reply);
      return new Redirect('/');
    } catch (error) {
      return refused(request, error, (problem) => resetPage({ secret, email, problem }));
    }
  }

  #joinForm(secret: string, request: FastifyRequest): JoinForm {
    const invitation = this.people.invitationOf(secret);
    if (!invitation) throw new TelemetryError('unknown_invitation', 'Ask for another link: this one was used or withdrawn, or is over.');
    const { orgId, role, email: invited } = invitation;
    const organization = this.organizations.get(orgId)?.name ?? orgId;
    const person = this.visitors.personOf(request)?.email;
    return { secret, organization, role, invited, email: invited, person, provider: this.outbound.provider.name };
  }

  #resetEmail(secret: string): string {
    const account = this.people.accountOfReset(secret);
    if (!account) throw new TelemetryError('unknown_reset', 'Ask for another link: this one was used, or is over.');
    return account.email;
  }
}
