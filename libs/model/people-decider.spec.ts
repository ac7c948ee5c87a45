import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { normalEmail, type Account, type Identity, type Invitation, type NewAccount } from './people.js';
import {
  maxInvitations,
  maxMembers,
  membershipKey,
  peopleDecider,
  type PeopleEvent,
  type PeopleState,
  type PeopleWish,
} from './people-decider.js';

type PeopleCommand = PeopleWish & { readonly orgId: string };

const hourMs = 3_600_000;
const anAccount = (accountId: string, email = `${accountId}@example.com`): Account => ({
  accountId,
  email,
  passwordDigest: 'd',
  createdMs: 0,
  reset: null,
  identity: null,
});
const anInvitation = (invitationId: string, more: Partial<Invitation> = {}): Invitation => ({
  invitationId,
  orgId: 'o',
  role: 'owner',
  email: '',
  invitedBy: 'operator',
  expiresMs: hourMs,
  ...more,
});
const invite = (id: string, more: Partial<Invitation> = {}): PeopleCommand => ({
  does: 'invite',
  orgId: more.orgId ?? 'o',
  invitation: anInvitation(id, more),
});
const join = (invitationId: string, account: NewAccount): PeopleCommand => ({ does: 'join', orgId: 'o', invitationId, account });

function history(
  commands: readonly PeopleCommand[],
  nowMs = 1,
  state = peopleDecider.initial,
): { state: PeopleState; events: PeopleEvent[] } {
  const events: PeopleEvent[] = [];
  for (const command of commands) {
    for (const event of peopleDecider.decide(state, command, nowMs)) {
      events.push(event);
      state = peopleDecider.evolve(state, event);
    }
  }
  return { state, events };
}
const outcomes = (events: readonly PeopleEvent[]): string[] => events.map((event) => (event.did === 'refused' ? event.why : event.did));
const after = (...commands: readonly PeopleCommand[]): string[] => outcomes(history(commands).events);

describe('an invitation', () => {
  it.each([
    ['is for one person', [invite('i'), join('i', anAccount('a')), join('i', anAccount('b'))], 'unknown_invitation'],
    ['that nobody made is none', [join('i', anAccount('a'))], 'unknown_invitation'],
    [
      'that was withdrawn is none',
      [invite('i'), { does: 'withdraw', orgId: 'o', invitationId: 'i' }, join('i', anAccount('a'))],
      'unknown_invitation',
    ],
    ['is withdrawn by its own organization only', [invite('i'), { does: 'withdraw', orgId: 'p', invitationId: 'i' }], 'unknown_invitation'],
    ['to an address is for nobody else', [invite('i', { email: 'b@example.com' }), join('i', anAccount('a'))], 'foreign_invitation'],
    ['is not made again under its id', [invite('i'), invite('i', { orgId: 'p' })], 'already_invited'],
    ['that is over when it is made is not made', [invite('i', { expiresMs: 1 })], 'unknown_invitation'],
    ['to what is no address is not made', [invite('i', { email: 'B@Example.com' })], 'invalid_email'],
    [
      'is kept when its account is in the organization',
      [invite('i'), invite('j'), join('i', anAccount('a')), join('j', anAccount('a'))],
      'already_member',
    ],
  ] as const)('%s', (_, commands, last) => {
    expect(after(...commands).at(-1)).toBe(last);
  });

  it('ends at its time', () => {
    const { state } = history([invite('i')]);
    expect(outcomes(history([join('i', anAccount('a'))], hourMs, state).events)).toEqual(['unknown_invitation']);
    expect(outcomes(history([join('i', anAccount('a'))], hourMs - 1, state).events)).toEqual(['joined']);
  });

  it('lets an account that there is into another organization, as it is', () => {
    const { state } = history([invite('i'), join('i', anAccount('a')), invite('j', { orgId: 'p', role: 'viewer' })]);
    const joined = history([join('j', { ...anAccount('a'), email: 'other@example.com', passwordDigest: 'another' })], 1, state);
    expect([...joined.state.accounts.values()]).toEqual([{ ...anAccount('a'), createdMs: 1 }]);
    expect([...joined.state.memberships.values()].map(({ orgId, role }) => [orgId, role])).toEqual([
      ['o', 'owner'],
      ['p', 'viewer'],
    ]);
  });

  it('of 100 that are open is one too many for an organization, and not for another', () => {
    const many = Array.from({ length: maxInvitations }, (_, at) => invite(`i${at}`));
    const { state } = history(many);
    expect(outcomes(history([invite('x'), invite('y', { orgId: 'p' })], 1, state).events)).toEqual(['too_many_invitations', 'invited']);
    expect(outcomes(history([invite('x', { expiresMs: 2 * hourMs })], hourMs, state).events)).toEqual(['invited']);
  });
});

it('invitations that are over are forgotten, ten with each new one', () => {
  const { state } = history(Array.from({ length: 12 }, (_, at) => invite(`i${at}`)));
  const later = history([invite('x', { expiresMs: 3 * hourMs }), invite('y', { expiresMs: 3 * hourMs })], hourMs, state);
  expect(Array.from(later.state.invitations.values(), ({ invitationId: id }) => id)).toEqual(['x', 'y']);
});

describe('who signs in by a provider', () => {
  const [of, from] = [
    { issuer: 'https://id.example', subject: 's' },
    { issuer: 'https://other.example', subject: 's' },
  ];
  const bind = (accountId: string, identity: Identity): PeopleCommand => ({ does: 'bind', orgId: '', accountId, identity });
  const { state } = history([invite('i'), join('i', anAccount('a')), invite('j'), join('j', anAccount('b'))]);

  it.each<[string, readonly PeopleCommand[], string, Identity | null]>([
    ['is bound to an account', [bind('a', of)], 'bound', of],
    ['is bound once more without a change', [bind('a', of), bind('a', of)], 'bound', of],
    ['is not bound to nobody', [bind('c', of)], 'unknown_account', null],
    ['is not bound to the account of another there', [bind('a', of), bind('a', { ...of, subject: 't' })], 'foreign_identity', of],
    ['is not bound to two accounts', [bind('b', of), bind('a', of)], 'foreign_identity', null],
    ['is bound anew when there is another provider', [bind('a', of), bind('a', from)], 'bound', from],
    [
      'does not join with a second account',
      [bind('a', of), invite('k'), join('k', { ...anAccount('c'), identity: of })],
      'foreign_identity',
      of,
    ],
  ])('%s', (_, commands, last, expected) => {
    const { state: then, events } = history(commands, 1, state);
    expect([outcomes(events).at(-1), then.accounts.get('a')!.identity]).toEqual([last, expected]);
  });

  it('has no password from then on, unless it is set later', () => {
    const set: PeopleCommand = { does: 'set_password', orgId: '', accountId: 'a', passwordDigest: 'new' };
    const offer: PeopleCommand = { does: 'offer_reset', orgId: '', accountId: 'a', reset: { sha256: 'ab', expiresMs: hourMs } };
    const digests = [
      [offer, bind('a', of)],
      [bind('a', of), set, bind('a', of)],
    ].map((commands) => history(commands, 1, state).state.accounts.get('a')!);
    expect(digests.map(({ passwordDigest, reset }) => [passwordDigest, reset])).toEqual([
      ['', null],
      ['new', null],
    ]);
  });
});

describe('a password', () => {
  const reset = { sha256: 'ab', expiresMs: hourMs };
  const offer: PeopleCommand = { does: 'offer_reset', orgId: '', accountId: 'a', reset };
  const use = (passwordDigest: string): PeopleCommand => ({ does: 'reset_password', orgId: '', reset, passwordDigest });
  const set: PeopleCommand = { does: 'set_password', orgId: '', accountId: 'a', passwordDigest: 'new' };
  const { state } = history([invite('i'), join('i', anAccount('a'))]);

  it.each([
    ['is set', [set], 'new', 'set_password'],
    ['of nobody is not set', [{ ...set, accountId: 'b' }], 'd', 'unknown_account'],
    ['is reset by a link, once', [offer, use('new'), use('newer')], 'new', 'unknown_reset'],
    ['is not reset by a link that nobody made', [use('new')], 'd', 'unknown_reset'],
    ['is reset by the newest link only', [offer, { ...offer, reset: { ...reset, sha256: 'cd' } }, use('new')], 'd', 'unknown_reset'],
    ['is not reset any more once it is set', [offer, set, use('newer')], 'new', 'unknown_reset'],
  ] as const)('%s', (_, commands, digest, last) => {
    const { state: then, events } = history(commands, 1, state);
    expect([then.accounts.get('a')!.passwordDigest, outcomes(events).at(-1)]).toEqual([digest, last]);
  });

  it('is not reset when the link is over', () => {
    const { state: offered } = history([offer], 1, state);
    expect(outcomes(history([use('new')], hourMs, offered).events)).toEqual(['unknown_reset']);
    expect(outcomes(history([use('new')], hourMs - 1, offered).events)).toEqual(['reset_password']);
  });
});

it('an address has one account', () => {
  const taken = join('j', anAccount('b', 'a@example.com'));
  expect(after(invite('i'), invite('j'), join('i', anAccount('a')), taken)).toEqual(['invited', 'invited', 'joined', 'email_taken']);
});

it('the last owner stays one, and may go once there is another', () => {
  const leave: PeopleCommand = { does: 'leave', orgId: 'o', accountId: 'a' };
  const demote: PeopleCommand = { does: 'set_role', orgId: 'o', accountId: 'a', role: 'member' };
  const { state } = history([invite('i'), join('i', anAccount('a')), invite('j', { role: 'viewer' }), join('j', anAccount('b'))]);
  const promote: PeopleCommand = { does: 'set_role', orgId: 'o', accountId: 'b', role: 'owner' };
  expect(outcomes(history([leave, demote, promote, demote, leave, leave], 1, state).events)).toEqual([
    'last_owner',
    'last_owner',
    'set_role',
    'set_role',
    'left',
    'unknown_member',
  ]);
});

it('an account ends with its last membership, and nobody joins with one that has', () => {
  const leave = (orgId: string): PeopleCommand => ({ does: 'leave', orgId, accountId: 'b' });
  const signedIn = { ...anAccount('b'), passwordDigest: '' };
  const { state, events } = history([
    invite('i'),
    join('i', anAccount('a')),
    invite('j', { role: 'viewer' }),
    join('j', anAccount('b')),
    invite('k', { orgId: 'p', role: 'viewer' }),
    join('k', signedIn),
    leave('o'),
    leave('p'),
    invite('l'),
    join('l', signedIn),
    join('l', anAccount('c', 'b@example.com')),
  ]);
  expect(outcomes(events).slice(6)).toEqual(['left', 'left', 'invited', 'unknown_account', 'joined']);
  expect(events.flatMap((event) => (event.did === 'left' ? event.endsAccount : []))).toEqual([false, true]);
  expect(Array.from(state.accounts.values(), ({ accountId: id }) => id)).toEqual(['a', 'c']);
});

it('an organization has at most 1,000 people', () => {
  const memberships = new Map(
    Array.from({ length: maxMembers }, (_, at) => {
      const membership = { orgId: 'o', accountId: `m${at}`, role: 'viewer', sinceMs: 0 } as const;
      return [membershipKey(membership), membership];
    }),
  );
  const { events } = history([invite('i'), join('i', anAccount('a'))], 1, { ...peopleDecider.initial, memberships });
  expect(outcomes(events)).toEqual(['invited', 'too_many_members']);
});

const few = (...names: string[]): fc.Arbitrary<string> => fc.constantFrom(...names);
const orgId = few('o', 'p');
const accountId = few('a', 'b', 'c');
const invitationId = few('i', 'j', 'k', 'l');
const role = fc.constantFrom('owner', 'member', 'viewer');
const email = few('', 'a@example.com', 'b@example.com');
const command: fc.Arbitrary<PeopleCommand> = fc.oneof(
  fc.tuple(invitationId, orgId, role, email).map(([id, org, its, to]) => invite(id, { orgId: org, role: its, email: to })),
  fc.tuple(invitationId, accountId, few('a@example.com', 'b@example.com')).map(([id, who, to]) => join(id, anAccount(who, to))),
  fc.record({ does: fc.constant('withdraw' as const), orgId, invitationId }),
  fc.record({ does: fc.constant('set_role' as const), orgId, accountId, role }),
  fc.record({ does: fc.constant('leave' as const), orgId, accountId }),
);

it('whatever is asked, an address has one account, an invitation one person, and who once has an owner keeps one', () => {
  fc.assert(
    fc.property(fc.array(command, { minLength: 40, maxLength: 80 }), (commands) => {
      let state = peopleDecider.initial;
      const owned = new Set<string>();
      const open = new Set<string>();
      const used: boolean[] = [];
      for (const one of commands) {
        const { state: next, events } = history([one], 1, state);
        for (const event of events) {
          if (event.did === 'invited') open.add(event.invitation.invitationId);
          if (event.did === 'withdrew') open.delete(event.invitation.invitationId);
          if (event.did === 'joined') used.push(open.delete(event.invitation.invitationId));
        }
        expect(used).not.toContain(false);
        state = next;
        const emails = [...state.accounts.values()].map((account) => account.email);
        expect(new Set(emails).size).toBe(emails.length);
        const owners = new Set([...state.memberships.values()].filter((its) => its.role === 'owner').map((its) => its.orgId));
        for (const org of owners) owned.add(org);
        expect(owners).toEqual(owned);
        expect(new Set(Array.from(state.memberships.values(), (its) => its.accountId)).size).toBe(state.accounts.size);
        for (const { accountId: who } of state.memberships.values()) expect(state.accounts.get(who)).toBeDefined();
      }
    }),
    { numRuns: 60 },
  );
});

it.each([
  [' Ada@Example.COM ', 'ada@example.com'],
  ['ada+test@localhost', 'ada+test@localhost'],
  ['ada', undefined],
  ['a@b@c', undefined],
  ['a @b.c', undefined],
  ['a@b..c', undefined],
  ['a@', undefined],
  ['a\u0000@b.c', undefined],
  [`${'a'.repeat(250)}@b.c`, `${'a'.repeat(250)}@b.c`],
  [`${'a'.repeat(251)}@b.c`, undefined],
])('of %j the address is %j', (text, expected) => {
  expect(normalEmail(text)).toBe(expected);
});
