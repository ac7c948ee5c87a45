import type { Decider } from './decider.js';
import { knownWith, type Known } from './known.js';
import type { Asked } from './once.js';
import {
  normalEmail,
  type Account,
  type Identity,
  type Invitation,
  type Membership,
  type NewAccount,
  type PasswordReset,
  type PersonRole,
} from './people.js';

/** People of one organization, and invitations of it that are open. */
export const maxMembers = 1_000;
export const maxInvitations = 100;

/** Invitations that are over and forgotten when another one is made: what a command makes has to fit into one record. */
const maxForgotten = 10;

/** What a change of people may be about. */
interface About {
  readonly invitation: Invitation;
  readonly invitationId: string;
  /** Who signs up, or who has signed in. */
  readonly account: NewAccount;
  readonly accountId: string;
  readonly role: PersonRole;
  readonly passwordDigest: string;
  readonly reset: PasswordReset;
  readonly identity: Identity;
}
type Wish<Kind extends PeopleWishKind> = { readonly does: Kind } & Pick<About, (typeof peopleWishes)[Kind][number]>;

/** What may be asked, and what each says. */
const peopleWishes = {
  invite: ['invitation'],
  withdraw: ['invitationId'],
  join: ['invitationId', 'account'],
  set_role: ['accountId', 'role'],
  leave: ['accountId'],
  set_password: ['accountId', 'passwordDigest'],
  /** Makes a link that sets another password, in place of the one that there is. */
  offer_reset: ['accountId', 'reset'],
  /** Uses such a link; only `reset.sha256` is read. */
  reset_password: ['reset', 'passwordDigest'],
  /** Says who signs in to an account by an OpenID provider. */
  bind: ['accountId', 'identity'],
} as const satisfies Readonly<Record<string, readonly (keyof About)[]>>;
type PeopleWishKind = keyof typeof peopleWishes;

/** Asks for a change of who belongs to an organization, or of how somebody signs in. */
export type PeopleWish = { readonly [Kind in PeopleWishKind]: Wish<Kind> }[PeopleWishKind];

/** A wish as it stands in the log: null for all that it is not about. */
export type WholeWish = PeopleWish & { readonly [Name in keyof About]: About[Name] | null };
export type PeopleCommand = Asked & WholeWish;

const nothing = {
  invitation: null,
  invitationId: null,
  account: null,
  accountId: null,
  role: null,
  passwordDigest: null,
  reset: null,
  identity: null,
};

/** A wish with null for all that it is not about. */
export const wholeWish = (wish: PeopleWish): WholeWish => ({ ...nothing, ...wish });

/** What a command says that makes no sense, in words; undefined when there is nothing. */
export function flawOfPeopleCommand(command: PeopleCommand): string | undefined {
  const about: readonly string[] = peopleWishes[command.does];
  const wrong = Object.keys(nothing).find((name) => (command[name as keyof About] !== null) !== about.includes(name));
  if (wrong !== undefined) return `a command to ${command.does} ${about.includes(wrong) ? 'says' : 'does not say'} ${wrong}`;
  const { orgId, invitation } = command;
  return invitation && invitation.orgId !== orgId ? 'a command holds the invitation of another organization than its own' : undefined;
}

export type PeopleRefusal =
  | 'invalid_email'
  | 'email_taken'
  | 'unknown_invitation'
  | 'foreign_invitation'
  | 'already_invited'
  | 'already_member'
  | 'unknown_member'
  | 'unknown_account'
  | 'unknown_reset'
  | 'foreign_identity'
  | 'last_owner'
  | 'too_many_members'
  | 'too_many_invitations';

export type PeopleEvent =
  | { readonly did: 'invited'; readonly invitation: Invitation; /** Those that are over. */ readonly forgotten: readonly Invitation[] }
  | { readonly did: 'withdrew'; readonly invitation: Invitation }
  | { readonly did: 'joined'; readonly invitation: Invitation; readonly account: Account; readonly membership: Membership }
  | { readonly did: 'set_role'; readonly before: Membership; readonly membership: Membership; readonly email: string }
  | {
      readonly did: 'left';
      readonly membership: Membership;
      readonly email: string;
      /** It was the last one of the account. */
      readonly endsAccount: boolean;
    }
  | { readonly did: 'set_password' | 'offered_reset' | 'reset_password' | 'bound'; readonly account: Account }
  | { readonly did: 'refused'; readonly why: PeopleRefusal };

export interface PeopleState {
  /** By id. */
  readonly accounts: Known<Account>;
  /** By `membershipKey`. */
  readonly memberships: Known<Membership>;
  /** By id: those that were neither used nor withdrawn. */
  readonly invitations: Known<Invitation>;
}

export const membershipKey = ({ orgId, accountId }: Pick<Membership, 'orgId' | 'accountId'>): string => `${orgId}/${accountId}`;

/**
 * Who has an account and with what password, and who belongs to which organization: one account for an address, one person for an invitation,
 * no organization without an owner, and no account that belongs nowhere.
 */
export const peopleDecider: Decider<PeopleState, PeopleWish & { readonly orgId: string }, PeopleEvent> = {
  initial: { accounts: new Map(), memberships: new Map(), invitations: new Map() },

  decide: (state, command, nowMs) => [outcomeOf(state, command, nowMs)],

  evolve(state, event) {
    let { accounts, memberships, invitations } = state;
    if (event.did === 'invited') {
      for (const { invitationId } of event.forgotten) invitations = knownWith(invitations, invitationId, undefined);
      invitations = knownWith(invitations, event.invitation.invitationId, event.invitation);
    }
    if (event.did === 'withdrew' || event.did === 'joined') invitations = knownWith(invitations, event.invitation.invitationId, undefined);
    if ('account' in event) accounts = knownWith(accounts, event.account.accountId, event.account);
    if (event.did === 'joined' || event.did === 'set_role')
      memberships = knownWith(memberships, membershipKey(event.membership), event.membership);
    if (event.did === 'left') {
      memberships = knownWith(memberships, membershipKey(event.membership), undefined);
      if (event.endsAccount) accounts = knownWith(accounts, event.membership.accountId, undefined);
    }
    return { accounts, memberships, invitations };
  },
};

type InOrganization<Kind extends PeopleWishKind> = Wish<Kind> & { readonly orgId: string };

const refused = (why: PeopleRefusal): PeopleEvent => ({ did: 'refused', why });
const membersOf = ({ memberships }: PeopleState, orgId: string): readonly Membership[] =>
  [...memberships.values()].filter((one) => one.orgId === orgId);

function outcomeOf(state: PeopleState, wish: PeopleWish & { readonly orgId: string }, nowMs: number): PeopleEvent {
  if (wish.does === 'invite') return invite(state, wish.invitation, nowMs);
  if (wish.does === 'withdraw') return withdraw(state, wish);
  if (wish.does === 'join') return join(state, wish.invitationId, wish.account, nowMs);
  if (wish.does === 'bind') return bind(state, wish);
  return wish.does === 'set_role' || wish.does === 'leave' ? change(state, wish) : changePassword(state, wish, nowMs);
}

function invite(state: PeopleState, invitation: Invitation, nowMs: number): PeopleEvent {
  const { orgId, email, expiresMs } = invitation;
  if (email !== '' && normalEmail(email) !== email) return refused('invalid_email');
  const its = [...state.invitations.values()].filter((one) => one.orgId === orgId);
  const over = its.filter((one) => one.expiresMs <= nowMs);
  if (its.length - over.length >= maxInvitations) return refused('too_many_invitations');
  if (state.invitations.get(invitation.invitationId)) return refused('already_invited');
  if (expiresMs <= nowMs) return refused('unknown_invitation');
  return { did: 'invited', invitation, forgotten: over.slice(0, maxForgotten) };
}

function withdraw({ invitations }: PeopleState, { orgId, invitationId }: InOrganization<'withdraw'>): PeopleEvent {
  const invitation = invitations.get(invitationId);
  return invitation?.orgId === orgId ? { did: 'withdrew', invitation } : refused('unknown_invitation');
}

function join(state: PeopleState, invitationId: string, asked: NewAccount, nowMs: number): PeopleEvent {
  const invitation = state.invitations.get(invitationId);
  if (!invitation || invitation.expiresMs <= nowMs) return refused('unknown_invitation');
  const known = state.accounts.get(asked.accountId);
  // It has ended while somebody was signed in.
  if (!known && asked.passwordDigest === '' && asked.identity === null) return refused('unknown_account');
  // Whoever signs in to an account that there is brings nothing that changes it.
  const account = known ?? { ...asked, createdMs: nowMs, reset: null };
  if (normalEmail(account.email) !== account.email) return refused('invalid_email');
  if (invitation.email !== '' && invitation.email !== account.email) return refused('foreign_invitation');
  const isTaken = [...state.accounts.values()].some(({ email, accountId }) => email === account.email && accountId !== account.accountId);
  if (isTaken) return refused('email_taken');
  if (isForeign(state, account.accountId, account.identity)) return refused('foreign_identity');
  const { orgId, role } = invitation;
  const membership: Membership = { orgId, accountId: account.accountId, role, sinceMs: nowMs };
  if (state.memberships.get(membershipKey(membership))) return refused('already_member');
  if (membersOf(state, orgId).length >= maxMembers) return refused('too_many_members');
  return { did: 'joined', invitation, account, membership };
}

function change(state: PeopleState, command: InOrganization<'set_role'> | InOrganization<'leave'>): PeopleEvent {
  const before = state.memberships.get(membershipKey(command));
  if (!before) return refused('unknown_member');
  const role = command.does === 'leave' ? undefined : command.role;
  const owners = membersOf(state, before.orgId).filter((one) => one.role === 'owner');
  if (before.role === 'owner' && role !== 'owner' && owners.length === 1) return refused('last_owner');
  const email = state.accounts.get(before.accountId)?.email ?? '';
  if (role) return { did: 'set_role', before, membership: { ...before, role }, email };
  const endsAccount = ![...state.memberships.values()].some((one) => one.accountId === before.accountId && one.orgId !== before.orgId);
  return { did: 'left', membership: before, email, endsAccount };
}

/** Whether somebody of the provider is bound to another account than this one. */
const isForeign = ({ accounts }: PeopleState, accountId: string, identity: Identity | null): boolean =>
  identity !== null && [...accounts.values()].some((one) => one.accountId !== accountId && isSame(one.identity, identity));
const isSame = (a: Identity | null, b: Identity): boolean => a?.issuer === b.issuer && a.subject === b.subject;

/**
 * Binds an account to who has shown that its address is theirs. Whoever made the account has perhaps only typed that address, so their
 * password ends. A provider that the operator has replaced has no say any more.
 */
function bind(state: PeopleState, { accountId, identity }: Wish<'bind'>): PeopleEvent {
  const account = state.accounts.get(accountId);
  if (!account) return refused('unknown_account');
  if (isSame(account.identity, identity)) return { did: 'bound', account };
  const isBound = account.identity?.issuer === identity.issuer;
  if (isBound || isForeign(state, accountId, identity)) return refused('foreign_identity');
  return { did: 'bound', account: { ...account, identity, passwordDigest: '', reset: null } };
}

function changePassword(
  { accounts }: PeopleState,
  wish: Wish<'set_password'> | Wish<'offer_reset'> | Wish<'reset_password'>,
  nowMs: number,
): PeopleEvent {
  if (wish.does === 'reset_password') {
    const account = [...accounts.values()].find(({ reset }) => reset?.sha256 === wish.reset.sha256 && reset.expiresMs > nowMs);
    const changed = account && { ...account, passwordDigest: wish.passwordDigest, reset: null };
    return changed ? { did: 'reset_password', account: changed } : refused('unknown_reset');
  }
  const account = accounts.get(wish.accountId);
  if (!account) return refused('unknown_account');
  if (wish.does === 'offer_reset') return { did: 'offered_reset', account: { ...account, reset: wish.reset } };
  // A link that somebody else has asked for is worth nothing any more.
  return { did: 'set_password', account: { ...account, passwordDigest: wish.passwordDigest, reset: null } };
}
