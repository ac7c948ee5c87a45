import { Get, Inject, Param, Post, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Accounts, CLOCK, originOf, People, PublicUrl, Sessions, SignIn, Visitors, type Clock } from '#edge';
import { TelemetryError } from '#model';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, type Shown } from '../shown.js';
import { ForVisitor, organizationCookie, VisitParam, type Visit } from '../visit.js';
import { accountPage, type AccountState } from './account-page.js';

/** What belongs to a person, whatever the organization. */
@Pages('account')
export class AccountPages {
  constructor(
    private readonly accounts: Accounts,
    private readonly sessions: Sessions,
    private readonly signIn: SignIn,
    private readonly people: People,
    private readonly visitors: Visitors,
    private readonly publicUrl: PublicUrl,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('read', { payment: false })
  account(@VisitParam() visit: Visit): Html {
    return accountPage(visit, this.#stateOf(visit));
  }

  @Post('sessions/:id/end')
  @ForVisitor('read', { payment: false })
  async end(@VisitParam() { person }: Visit, @Param('id') sessionId: string): Promise<Redirect> {
    await this.sessions.end(person.accountId, sessionId);
    return new Redirect('/account');
  }

  @Post('password')
  @ForVisitor('read', { payment: false })
  async setPassword(
    @VisitParam() visit: Visit,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<Redirect | Shown> {
    try {
      const account = await this.signIn.confirm(visit.person, typed(form, 'current'), originOf(request), this.visitors.tokenOf(request));
      await this.visitors.enter(await this.people.setPassword(account, typed(form, 'password')), request, reply);
      return new Redirect('/account');
    } catch (error) {
      return refused(request, error, (problem) => accountPage(visit, { ...this.#stateOf(visit), problem }));
    }
  }

  /** The organization is named, for the page may have been made before the person chose another one. */
  @Post('leave/:id')
  @ForVisitor('leave', { payment: false })
  async leave(@VisitParam() visit: Visit, @Param('id') orgId: string, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    const { accountId, email } = visit.person;
    try {
      // A command would be kept for ever, under whatever id the path has.
      if (!this.accounts.membership(orgId, accountId))
        throw new TelemetryError('unknown_person', 'You do not belong to this organization.');
      await this.people.remove(orgId, accountId, { id: accountId, name: email });
      return new Redirect('/');
    } catch (error) {
      return refused(request, error, (trouble) => accountPage(visit, { ...this.#stateOf(visit), trouble }));
    }
  }

  @Post('organization')
  @ForVisitor('read', { payment: false })
  choose(@VisitParam() visit: Visit, @FormParam() form: Form, @Res({ passthrough: true }) reply: FastifyReply): Redirect {
    const found = visit.organizations.find(({ orgId }) => orgId === form.get('organization'));
    if (!found) throw new TelemetryError('no_organization', 'Choose one of your organizations.');
    void reply.header('set-cookie', organizationCookie(found.orgId, this.publicUrl));
    return new Redirect('/');
  }

  #stateOf({ person: { accountId } }: Visit): AccountState {
    const hasPassword = Boolean(this.accounts.get(accountId)?.passwordDigest);
    return { sessions: this.sessions.list(accountId), hasPassword, nowMs: this.clock() };
  }
}
