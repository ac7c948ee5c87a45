import { Controller, Delete, Get, HttpCode, Param, Patch, Post } from '@nestjs/common';
import type { z } from 'zod';
import { Access, Accounts, CallerParam, JsonBody, Keyring, People } from '#edge';
import { TelemetryError, type Caller } from '#model';
import {
  newInvitation,
  personChange,
  toListedInvitation,
  toPerson,
  type createdInvitation,
  type listedInvitation,
  type person,
} from './people.js';

/** People of the caller's organization, and those whom it has invited. */
@Controller('api')
@Access({ may: 'people', payment: false })
export class PeopleController {
  constructor(
    private readonly people: People,
    private readonly accounts: Accounts,
    private readonly keyring: Keyring,
  ) {}

  @Post('invitations')
  async invite(
    @CallerParam() caller: Caller,
    @JsonBody(newInvitation) { role, email = '' }: z.output<typeof newInvitation>,
  ): Promise<z.output<typeof createdInvitation>> {
    const { invitation, link } = await this.people.invite(caller.orgId, role, email, this.keyring.actor(caller));
    return { ...toListedInvitation(invitation, this.accounts), link };
  }

  @Get('invitations')
  invitations(@CallerParam() { orgId }: Caller): z.output<typeof listedInvitation>[] {
    return this.people.invitationsOf(orgId).map((invitation) => toListedInvitation(invitation, this.accounts));
  }

  @Delete('invitations/:id')
  @HttpCode(204)
  withdraw(@CallerParam() caller: Caller, @Param('id') invitationId: string): Promise<void> {
    return this.people.withdraw(caller.orgId, invitationId, this.keyring.actor(caller));
  }

  @Get('people')
  list(@CallerParam() { orgId }: Caller): z.output<typeof person>[] {
    return this.accounts.membersOf(orgId).map((membership) => toPerson(membership, this.accounts));
  }

  @Patch('people/:id')
  async change(
    @CallerParam() caller: Caller,
    @Param('id') accountId: string,
    @JsonBody(personChange) { role }: z.output<typeof personChange>,
  ): Promise<z.output<typeof person>> {
    await this.people.setRole(caller.orgId, accountId, role, this.keyring.actor(caller));
    const membership = this.accounts.membership(caller.orgId, accountId);
    if (!membership) throw new TelemetryError('unknown_person', 'The person has been removed meanwhile.');
    return toPerson(membership, this.accounts);
  }

  @Delete('people/me')
  @HttpCode(204)
  @Access({ may: 'leave' })
  leave(@CallerParam() caller: Caller): Promise<void> {
    return this.people.remove(caller.orgId, caller.person!.accountId, this.keyring.actor(caller));
  }

  @Delete('people/:id')
  @HttpCode(204)
  remove(@CallerParam() caller: Caller, @Param('id') accountId: string): Promise<void> {
    return this.people.remove(caller.orgId, accountId, this.keyring.actor(caller));
  }
}
