import { Get, Inject, Param, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Accounts, checkJson, CLOCK, Keyring, People, type Clock } from '#edge';
import { personRoles } from '#model';
import { newInvitation, personChange, toListedInvitation, toPerson } from '../../people/people.js';
import { FormParam, typed, type Form } from '../form.js';
import type { Html } from '../html.js';
import { Pages } from '../pages.js';
import { refused } from '../refused.js';
import { Redirect, Shown } from '../shown.js';
import { ForVisitor, VisitParam, type Visit } from '../visit.js';
import { invitedPage, peoplePage, type InviteForm } from './people-page.js';

const emptyForm: InviteForm = { email: '', role: 'member' };

/** Who belongs to an organization. */
@Pages('people')
export class PeoplePages {
  constructor(
    private readonly people: People,
    private readonly accounts: Accounts,
    private readonly keyring: Keyring,
    @Inject(CLOCK) private readonly clock: Clock,
  ) {}

  @Get()
  @ForVisitor('people', { payment: false })
  list(@VisitParam() visit: Visit): Html {
    return this.#page(visit, emptyForm);
  }

  @Post('invite')
  @ForVisitor('people', { payment: false })
  async invite(@VisitParam() visit: Visit, @FormParam() form: Form, @Req() request: FastifyRequest): Promise<Shown> {
    const { caller } = visit;
    const role = personRoles.find((one) => one === form.get('role')) ?? 'viewer';
    const asked: InviteForm = { email: typed(form, 'email').trim(), role };
    try {
      const { email = '' } = checkJson(newInvitation, { role, ...(asked.email !== '' && { email: asked.email }) });
      const { link, invitation } = await this.people.invite(caller.orgId, role, email, this.keyring.actor(caller));
      return new Shown(invitedPage(visit, toListedInvitation(invitation, this.accounts), link), 201);
    } catch (error) {
      return refused(request, error, (problem) => this.#page(visit, { ...asked, problem }));
    }
  }

  @Post('invitations/:id/withdraw')
  @ForVisitor('people', { payment: false })
  withdraw(@VisitParam() visit: Visit, @Param('id') id: string, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    return this.#change(visit, request, () => this.people.withdraw(visit.caller.orgId, id, this.keyring.actor(visit.caller)));
  }

  @Post(':id/role')
  @ForVisitor('people', { payment: false })
  setRole(
    @VisitParam() visit: Visit,
    @Param('id') id: string,
    @FormParam() form: Form,
    @Req() request: FastifyRequest,
  ): Promise<Redirect | Shown> {
    return this.#change(visit, request, () => {
      const { role } = checkJson(personChange, { role: form.get('role') });
      return this.people.setRole(visit.caller.orgId, id, role, this.keyring.actor(visit.caller));
    });
  }

  @Post(':id/remove')
  @ForVisitor('people', { payment: false })
  remove(@VisitParam() visit: Visit, @Param('id') id: string, @Req() request: FastifyRequest): Promise<Redirect | Shown> {
    return this.#change(visit, request, () => this.people.remove(visit.caller.orgId, id, this.keyring.actor(visit.caller)));
  }

  async #change(visit: Visit, request: FastifyRequest, change: () => Promise<void>): Promise<Redirect | Shown> {
    try {
      await change();
      return new Redirect('/people');
    } catch (error) {
      return refused(request, error, (trouble) => this.#page(visit, { ...emptyForm, trouble }));
    }
  }

  #page(visit: Visit, form: InviteForm): Html {
    const { orgId } = visit.caller;
    const members = this.accounts.membersOf(orgId).map((membership) => toPerson(membership, this.accounts));
    const invitations = this.people.invitationsOf(orgId).map((invitation) => toListedInvitation(invitation, this.accounts));
    return peoplePage(visit, { members, invitations }, this.clock(), form);
  }
}
