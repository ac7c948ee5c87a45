import { entry, tombstone, type Entry, type View } from '#log';
import {
  membershipKey,
  peopleDecider,
  type AuditNote,
  type Invitation,
  type Known,
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
 * Who has an account, and who belongs to which organization. The state is that of all organizations, for no two accounts have one address.
 * What an account that ends leaves behind, such as its sessions, is worth nothing; `Leftovers` takes it away.
 */
export const peopleArea: Area<PeopleState, PeopleCommand, PeopleEvent, PeopleWord> = {
  name: 'people',
  topic: peopleCommands,
  topics: [accounts, memberships, invitations],
  decider: peopleDecider,

  stateIn: (views) => () => ({
    accounts: knownIn(views.open(accounts)),
    memberships: knownIn(views.open(memberships)),
    invitations: knownIn(views.open(invitations)),
  }),

  outcomeOf: (event): Outcome<PeopleWord> => ({ word: event.did === 'refused' ? event.why : event.did, about: aboutOf(event) }),

  effectsOf(event): readonly Entry[] {
    if (event.did === 'refused') return [];
    if (event.did === 'invited') return [entry(invitations, event.invitation), ...event.forgotten.map(endOf)];
    if (event.did === 'withdrew') return [endOf(event.invitation)];
    if (event.did === 'joined') return [entry(accounts, event.account), entry(memberships, event.membership), endOf(event.invitation)];
    if (event.did === 'set_role') return [entry(memberships, event.membership)];
    if (event.did !== 'left') return [entry(accounts, event.account)];
    const { membership, endsAccount } = event;
    return [tombstone(memberships, membershipKey(membership)), ...(endsAccount ? [tombstone(accounts, membership.accountId)] : [])];
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
  if (event.did !== 'left') return event.account.email;
  return `${event.email}, who was ${event.membership.role}${event.endsAccount ? '; the account has ended' : ''}`;
}

/** Copies nothing, for there may be very many: nothing changes while something is decided. */
const knownIn = <V>(view: View<V>): Known<V> => ({ get: (key) => view.get(key), size: view.size, values: () => valuesOf(view) });

function* valuesOf<V>(view: View<V>): MapIterator<V> {
  for (const [, value] of view.scan('')) yield value;
}

const endOf = ({ invitationId }: Invitation): Entry => tombstone(invitations, invitationId);

function aboutOf(event: PeopleEvent): string {
  if (event.did === 'refused') return '';
  if (event.did === 'invited' || event.did === 'withdrew') return event.invitation.invitationId;
  return 'membership' in event ? event.membership.accountId : event.account.accountId;
}
