import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { claimEndMs, claimKnownMs, claimLifetimeMs, claimStatusAt, type Claim } from './claim.js';
import {
  claimDecider,
  flawOfClaimCommand,
  maxClaims,
  maxClaimsOfAddress,
  type ClaimCommand,
  type ClaimEvent,
  type ClaimsState,
} from './claim-decider.js';

const { initial } = claimDecider;
const asked = { orgId: '', id: '', askedMs: 0, by: { id: 'acct', name: 'a@example.com' } };
const start = (claimId: string, address = '10.0.0.1', userCode = `CODE-${claimId}`): ClaimCommand => ({
  ...asked,
  does: 'start',
  claimId,
  claim: { userCode, name: 'pump', address, scopes: ['write'], sources: ['*'] },
  grant: null,
});
const approve = (claimId: string, orgId = 'o'): ClaimCommand => ({
  ...asked,
  does: 'approve',
  claimId,
  claim: null,
  grant: { orgId, scopes: ['read', 'write'], sources: ['pump-*'] },
});
const deny = (claimId: string): ClaimCommand => ({ ...asked, does: 'deny', claimId, claim: null, grant: null });
const deliver = (claimId: string): ClaimCommand => ({ ...asked, does: 'deliver', claimId, claim: null, grant: null });

interface Decided {
  readonly state: ClaimsState;
  readonly told: readonly string[];
}
const wordOf = (event: ClaimEvent): string => (event.did === 'refused' ? event.why : event.did);

/** What one writer makes of commands at their times. */
function decided(steps: readonly (readonly [nowMs: number, command: ClaimCommand])[], before = initial): Decided {
  let state = before;
  const told: string[] = [];
  for (const [nowMs, command] of steps) {
    for (const event of claimDecider.decide(state, command, nowMs)) {
      state = claimDecider.evolve(state, event);
      told.push(wordOf(event));
    }
  }
  return { state, told };
}
const now = (...commands: readonly ClaimCommand[]): readonly string[] => decided(commands.map((command) => [1, command] as const)).told;

describe('a claim', () => {
  it.each([
    ['gives its key once', [start('a'), approve('a'), deliver('a'), deliver('a')], ['delivered', 'already_delivered']],
    ['gives none before somebody approves it', [start('a'), deliver('a')], ['started', 'not_approved']],
    ['gives none when it is denied', [start('a'), deny('a'), approve('a'), deliver('a')], ['already_decided', 'already_decided']],
    ['is decided once', [start('a'), approve('a'), approve('a', 'p'), deny('a')], ['already_decided', 'already_decided']],
    ['stays as it was when its key is gone', [start('a'), approve('a'), deliver('a'), deny('a')], ['delivered', 'already_decided']],
    ['that nobody has started is none', [approve('a'), deny('a'), deliver('a')], ['unknown_claim', 'unknown_claim']],
    ['has codes of its own', [start('a'), start('b', '10.0.0.2', 'CODE-a'), start('a', '10.0.0.2', 'other')], ['code_taken', 'code_taken']],
  ])('%s', (_, commands, last) => {
    expect(now(...commands).slice(-2)).toEqual(last);
  });

  it('gives the key that was approved, not the one that was asked for', () => {
    const { state } = decided([
      [1, start('a')],
      [2, approve('a', 'p')],
    ]);
    expect(state.claims.get('a')).toEqual({
      ...start('a').claim,
      claimId: 'a',
      startedMs: 1,
      status: 'approved',
      orgId: 'p',
      scopes: ['read', 'write'],
      sources: ['pump-*'],
      decidedBy: 'acct',
    });
  });

  it.each([
    [start('a'), approve('a'), 'approved'],
    [start('a'), deny('a'), 'denied'],
    [approve('a'), deliver('a'), 'delivered'],
  ])('is over after 15 minutes', (before, command, word) => {
    const { state } = decided([[1, start('a')], ...(before.does === 'start' ? [] : [[2, before] as const])]);
    const end = claimEndMs({ startedMs: 1 });
    expect(decided([[end - 1, command]], state).told).toEqual([word]);
    expect(decided([[end, command]], state).told).toEqual(['expired']);
    expect([end - 1, end].map((ms) => claimStatusAt(state.claims.get('a')!, ms))).toEqual([
      before.does === 'start' ? 'pending' : 'approved',
      'expired',
    ]);
  });

  it('is forgotten with the next one that starts after 30 minutes', () => {
    const { state } = decided([[1, start('a')]]);
    expect(decided([[claimKnownMs + 1, approve('a')]], state).told).toEqual(['unknown_claim']);
    expect([...decided([[claimKnownMs, start('b')]], state).state.claims.keys()]).toEqual(['a', 'b']);
    expect([...decided([[claimKnownMs + 1, start('b')]], state).state.claims.keys()]).toEqual(['b']);
    expect(decided([[claimKnownMs + 1, start('b', '10.0.0.1', 'CODE-a')]], state).told).toEqual(['started']);
  });
});

describe('claims that are open', () => {
  const ten = Array.from({ length: maxClaimsOfAddress }, (_, at) => start(`c${at}`));
  const full = decided(ten.map((command) => [1, command] as const)).state;

  it.each([
    ['are at most ten of an address', [start('x')], ['too_many_of_address']],
    ['are counted by address', [start('x', '10.0.0.2')], ['started']],
    ['make room when they are denied', [deny('c3'), start('x')], ['denied', 'started']],
    ['make room when their key is handed out', [approve('c3'), deliver('c3'), start('x')], ['approved', 'delivered', 'started']],
    ['make none when they are approved', [approve('c3'), start('x')], ['approved', 'too_many_of_address']],
  ])('%s', (_, commands, told) => {
    expect(
      decided(
        commands.map((command) => [2, command] as const),
        full,
      ).told,
    ).toEqual(told);
  });

  it('make room when their time is over', () => {
    expect(decided([[claimLifetimeMs, start('x')]], full).told).toEqual(['too_many_of_address']);
    expect(decided([[claimLifetimeMs + 1, start('x')]], full).told).toEqual(['started']);
  });

  it('of one IPv6 network are of one address', () => {
    const six = Array.from({ length: 11 }, (_, at) => start(`c${at}`, `2001:db8::${at + 1}`));
    expect(now(...six).at(-1)).toBe('too_many_of_address');
    expect(now(...six.slice(1), start('x', '2001:db8:0:1::1')).at(-1)).toBe('started');
  });
});

it('5,000 claims are known of everybody, and more when those are forgotten, some with each that starts', () => {
  const claims = new Map(
    Array.from({ length: maxClaims }, (_, at): [string, Claim] => {
      const its = { claimId: `c${at}`, userCode: `${at}`, name: 'n', address: `10.0.${at >> 8}.${at & 255}`, scopes: [], sources: [] };
      return [its.claimId, { ...its, startedMs: 0, status: 'denied', orgId: '', decidedBy: '' }];
    }),
  );
  expect(decided([[claimKnownMs - 1, start('x', '10.1.0.0')]], { claims }).told).toEqual(['too_many_claims']);
  const { told, state } = decided([[claimKnownMs, start('x', '10.1.0.0')]], { claims });
  expect([told, state.claims.size]).toEqual([['started'], maxClaims - 1]);
});

interface Past {
  readonly claimId: string;
  readonly address: string;
  readonly atMs: number;
  readonly did: string;
}
/** What becomes of a command, told from what was done before, in other words than the decider's. */
function expected(past: readonly Past[], command: ClaimCommand, nowMs: number): string {
  const sinceMs = (did: string, claimId: string): number =>
    nowMs - (past.findLast((one) => one.did === did && one.claimId === claimId)?.atMs ?? -Infinity);
  const isOver = (claimId: string): boolean => ['denied', 'delivered'].some((did) => sinceMs(did, claimId) <= sinceMs('started', claimId));
  const open = (one: Past): boolean => one.did === 'started' && nowMs - one.atMs < claimLifetimeMs && !isOver(one.claimId);
  const age = sinceMs('started', command.claimId);
  if (command.does === 'start' && age < claimKnownMs) return 'code_taken';
  if (command.does === 'start')
    return past.filter((one) => open(one) && one.address === command.claim.address).length < 10 ? 'started' : 'too_many_of_address';
  if (!(age < claimKnownMs)) return 'unknown_claim';
  if (sinceMs('delivered', command.claimId) <= age) return command.does === 'deliver' ? 'already_delivered' : 'already_decided';
  if (sinceMs('denied', command.claimId) <= age) return 'already_decided';
  if (age >= claimLifetimeMs) return 'expired';
  const isApproved = sinceMs('approved', command.claimId) <= age;
  if (command.does === 'deliver') return isApproved ? 'delivered' : 'not_approved';
  return isApproved ? 'already_decided' : command.does === 'deny' ? 'denied' : 'approved';
}

const claimId = fc.integer({ min: 0, max: 13 }).map((n) => `c${n}`);
const some = fc.oneof(
  { weight: 4, arbitrary: claimId.map((id) => start(id)) },
  { weight: 1, arbitrary: claimId.map((id) => start(id, '10.0.0.2')) },
  { weight: 2, arbitrary: claimId.map((id) => approve(id)) },
  { weight: 1, arbitrary: claimId.map(deny) },
  { weight: 3, arbitrary: claimId.map(deliver) },
);
/** A command comes `again` times more, each after a while. Its writer dies so often before what it has decided is in the log. */
const step = fc.record({
  command: some,
  waitMs: fc.oneof({ weight: 9, arbitrary: fc.nat(60_000) }, { weight: 1, arbitrary: fc.nat(2 * claimLifetimeMs) }),
  crashes: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
  again: fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2) }),
});

it('whatever is asked, whoever dies and whatever comes again: what a fold over what was done says', () => {
  const words = new Set<string>();
  fc.assert(
    fc.property(fc.array(step, { minLength: 40, maxLength: 80 }), (steps) => {
      let state = initial;
      let nowMs = 1;
      const past: Past[] = [];
      for (const { command, waitMs, crashes, again } of steps) {
        nowMs += waitMs;
        // What is decided and not in the log has not happened: the next writer decides on the state before it.
        for (let dead = 0; dead < crashes; dead++, nowMs += 6000) claimDecider.decide(state, command, nowMs);
        for (let times = 0; times <= again; times++, nowMs += 100) {
          const word = expected(past, command, nowMs);
          const { told, state: after } = decided([[nowMs, command]], state);
          expect(told).toEqual([word]);
          words.add(word);
          state = after;
          const address = command.does === 'start' ? command.claim.address : '';
          past.push({ claimId: command.claimId, address, atMs: nowMs, did: word });
        }
      }
      for (const [at, { claimId: id, did, atMs }] of past.entries()) {
        if (did !== 'delivered') continue;
        const before = past.slice(
          past.findLastIndex((one, place) => place < at && one.claimId === id && one.did === 'started'),
          at,
        );
        const its = before.filter((one) => one.claimId === id).map((one) => one.did);
        expect([its.includes('approved'), its.includes('delivered'), its.includes('denied')]).toEqual([true, false, false]);
        expect(atMs - before[0]!.atMs).toBeLessThan(claimLifetimeMs);
      }
    }),
    { numRuns: 200 },
  );
  // Ten open claims of one address come up in some runs only; the table above has them.
  words.delete('too_many_of_address');
  expect([...words].toSorted()).toEqual(
    ['already_decided', 'already_delivered', 'approved', 'code_taken', 'delivered', 'denied', 'expired', 'not_approved', 'started', 'unknown_claim'], // prettier-ignore
  );
});

it.each([
  ['a start without what is asked for', { ...start('a'), claim: null }],
  ['a denial that gives something', { ...deny('a'), grant: approve('a').grant }],
  ['an approval of nothing', { ...approve('a'), grant: null }],
  ['a start that asks to manage keys', { ...start('a'), claim: { ...start('a').claim, scopes: ['admin'] } }],
  ['an approval with 17 patterns', { ...approve('a'), grant: { ...approve('a').grant, sources: Array.from({ length: 17 }, () => 'a') } }],
])('%s has a flaw', (_, command) => {
  expect(flawOfClaimCommand(command as ClaimCommand)).toMatch(/^a c/);
  for (const good of [start('a'), approve('a'), deny('a'), deliver('a')]) expect(flawOfClaimCommand(good)).toBeUndefined();
});
