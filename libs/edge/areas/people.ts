import { entry, tombstone, type Entry } from '#log';
import {
  membershipKey,
  peopleDecider,
  type AuditNote,
  type Invitation,
  type Outcome,
  type PeopleCommand,
  type PeopleEvent,
  type PeopleRefusal,
  type PeopleState,
} from '#model';
import { accounts, invitations, memberships, peopleCommands } from '#topics';
import type { Area } from './area.js';

export type PeopleWord = Exclude<PeopleEvent['did'], 'refused'> | PeopleRefusal;

/**
 * Who has an account, and who belongs to which organization. The state is that of all organizations, for no two accounts have one address:
 * it is read again before the commands of another organization are decided.
 */
export const peopleArea: Area<PeopleState, PeopleCommand, PeopleEvent, PeopleWord> = {
  name: 'people',
  topic: peopleCommands,
  topics: [accounts, memberships, invitations],
  decider: peopleDecider,

  stateIn: (views) => () => ({
    accounts: new Map(views.open(accounts).scan('')),
    memberships: new Map(views.open(memberships).scan('')),
    invitations: new Map(views.open(invitations).scan('')),
  }),

  outcomeOf: (event): Outcome<PeopleWord> => ({ word: event.did === 'refused' ? event.why : event.did, about: aboutOf(event) }),

  effectsOf(event): readonly Entry[] {
    if (event.did === 'refused') return [];
    if (event.did === 'invited') return [entry(invitations, event.invitation), ...event.forgotten.map(endOf)];
    if (event.did === 'withdrew') return [endOf(event.invitation)];
    if (event.did === 'joined') return [entry(accounts, event.account), entry(memberships, event.membership), endOf(event.invitation)];
    if (event.did === 'set_role') return [entry(memberships, event.membership)];
    return event.did === 'left' ? [tombstone(memberships, membershipKey(event.membership))] : [entry(accounts, event.account)];
  },

  auditOf(event): readonly AuditNote[] {
    return event.did === 'refused' ? [] : [{ did: auditWords[event.did], about: aboutOf(event), text: inWords(event) }];
  },
};

const auditWords: Readonly<Record<Exclude<PeopleEvent['did'], 'refused'>, string>> = {
  invited: 'invitation.created',
  withdrew: 'invitation.deleted',
  joined: 'person.joined',
  set_role: 'person.changed',
  left: 'person.removed',
  set_password: 'password.changed',
  offered_reset: 'password.reset_offered',
  reset_password: 'password.reset',
  bound: 'account.bound',
};

function inWords(event: Exclude<PeopleEvent, { readonly did: 'refused' }>): string {
  if (event.did === 'invited' || event.did === 'withdrew')
    return `${event.invitation.email || 'whoever has the link'} as ${event.invitation.role}`;
  if (event.did === 'joined') return `${event.account.email} as ${event.membership.role}`;
  if (event.did === 'set_role') return `${event.email} from ${event.before.role} to ${event.membership.role}`;
  return event.did === 'left' ? `${event.email}, who was ${event.membership.role}` : event.account.email;
}

const endOf = ({ invitationId }: Invitation): Entry => tombstone(invitations, invitationId);

function aboutOf(event: PeopleEvent): string {
  if (event.did === 'refused') return '';
  if (event.did === 'invited' || event.did === 'withdrew') return event.invitation.invitationId;
  return 'membership' in event ? event.membership.accountId : event.account.accountId;
}
