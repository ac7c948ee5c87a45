import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxCommandMs } from './decider.js';
import { flawOfKeyCommand, keyDecider, maxDecided, type KeyCommand, type KeyEvent, type KeyState } from './key-decider.js';
import type { ApiKey } from './organization.js';

const { initial } = keyDecider;
const aKey = (keyId: string): ApiKey => ({
  keyId,
  orgId: 'o',
  name: 'n',
  sha256: 'a'.repeat(64),
  prefix: 'hw_',
  suffix: 'x',
  scopes: ['write'],
  createdMs: 0,
});

type Asked = Pick<KeyCommand, 'id' | 'askedMs'>;
const making = (asked: Asked, keyId: string, does: 'create' | 'create_first' = 'create_first'): KeyCommand => ({
  orgId: 'o',
  ...asked,
  keyId,
  does,
  key: aKey(keyId),
});
const deleting = (asked: Asked, keyId: string): KeyCommand => ({ orgId: 'o', ...asked, keyId, does: 'delete', key: null });

interface Delivery {
  readonly command: KeyCommand;
  readonly atMs: number;
}

/** What one writer makes of commands, in the order in which they come to it. */
function written(deliveries: readonly Delivery[], state = initial): { readonly state: KeyState; readonly events: readonly KeyEvent[] } {
  const events: KeyEvent[] = [];
  for (const { command, atMs } of deliveries) {
    for (const event of keyDecider.decide(state, command, atMs)) {
      events.push(event);
      state = keyDecider.evolve(state, event);
    }
  }
  return { state, events };
}

const does = fc.constantFrom('create', 'create_first', 'delete');
const deliveries = fc
  .array(fc.record({ does, key: fc.integer({ min: 0, max: 5 }), waitMs: fc.integer({ min: 0, max: 2000 }), delayMs: fc.nat(7000) }), {
    maxLength: 40,
  })
  .map((steps) => {
    let atMs = 1_000_000;
    return steps.map(({ does: what, key, waitMs, delayMs }, at): Delivery => {
      atMs += waitMs;
      const asked = { id: `c${at}`, askedMs: atMs - delayMs };
      // Few keys, so that many deletions meet one that is there.
      if (what === 'delete') return { command: deleting(asked, `k${key}`), atMs };
      return { command: making(asked, `k${at % 6}`, what), atMs };
    });
  });

const holds = (promise: (all: readonly Delivery[]) => void): void => fc.assert(fc.property(deliveries, promise), { numRuns: 300 });

describe('keys of one organization, whatever commands come', () => {
  it('a first key is made only where there is none but itself', () => {
    holds((all) => {
      let state = initial;
      const outcomes = all.flatMap(({ command, atMs }) => {
        const isFree = state.keyIds.size === 0 || state.keyIds.has(command.keyId);
        const events = keyDecider.decide(state, command, atMs);
        state = written([{ command, atMs }], state).state;
        return command.does === 'create_first' ? events.map((event) => [event.outcome, isFree]) : [];
      });
      for (const [outcome, isFree] of outcomes) expect(outcome).toBe(isFree ? 'created' : 'has_keys');
    });
  });

  it('commands that come again, after a crash or from a sender, change nothing and are not answered otherwise', () => {
    holds((all) => {
      const once = written(all);
      for (const from of [0, Math.floor(all.length / 2)]) {
        const again = written(all.slice(from), once.state);
        expect(again.events).toEqual([]);
        expect(again.state).toEqual(once.state);
      }
    });
  });

  it('each is decided once, and before it is too old', () => {
    holds((all) => {
      const { events } = written(all.flatMap((one) => [one, one]));
      expect(new Set(events.map(({ command }) => command.id)).size).toBe(events.length);
      const late = all.filter(({ command, atMs }) => atMs - command.askedMs >= maxCommandMs).map(({ command }) => command.id);
      expect(events.filter(({ command }) => late.includes(command.id))).toEqual([]);
      expect(events.length).toBe(all.length - late.length);
    });
  });

  it('what is remembered of commands is bounded by those of 5 seconds', () => {
    holds((all) => {
      const { state } = written(all);
      for (const { askedMs } of state.decided) expect(state.atMs - askedMs).toBeLessThan(maxCommandMs);
    });
  });
});

it('a clock that is behind makes no command younger', () => {
  const first = making({ id: 'c1', askedMs: 0 }, 'k1');
  const { state } = written([
    { command: first, atMs: 0 },
    { command: deleting({ id: 'c2', askedMs: 10_000 }, 'k1'), atMs: 10_000 },
  ]);
  expect(keyDecider.decide(state, first, 1)).toEqual([]);
});

it('a command of a clock that is far ahead is not decided', () => {
  expect(keyDecider.decide(initial, making({ id: 'c1', askedMs: maxCommandMs }, 'k1'), 0)).toEqual([]);
});

it('of two callers at once who each make a first key one is refused', () => {
  const both = ['k1', 'k2'].map((keyId): Delivery => ({ command: making({ id: keyId, askedMs: 0 }, keyId), atMs: 1 }));
  expect(written(both).events).toMatchObject([{ outcome: 'created' }, { outcome: 'has_keys' }]);
});

it('a first key is asked for again under a new command by a sender who has not heard, and is made once', () => {
  const twice = ['c1', 'c2'].map((id): Delivery => ({ command: making({ id, askedMs: 0 }, 'k1'), atMs: 1 }));
  const { events, state } = written(twice);
  expect([events.map(({ outcome }) => outcome), [...state.keyIds]]).toEqual([['created', 'created'], ['k1']]);
});

it('1,000 commands of an organization are decided in 5 seconds, and more when those are forgotten', () => {
  const many = Array.from({ length: maxDecided + 5 }, (_, at): Delivery => ({
    command: deleting({ id: `c${at}`, askedMs: 0 }, 'k'),
    atMs: 1,
  }));
  const { state, events } = written(many);
  expect(events).toHaveLength(maxDecided);
  expect(keyDecider.decide(state, deleting({ id: 'next', askedMs: maxCommandMs }, 'k'), maxCommandMs)).toHaveLength(1);
});

it.each([
  ['a key to delete', { ...deleting({ id: 'c', askedMs: 0 }, 'k'), key: aKey('k') }],
  ['no key to make', { ...making({ id: 'c', askedMs: 0 }, 'k'), key: null }],
  ['a key of another name', { ...making({ id: 'c', askedMs: 0 }, 'k'), key: aKey('l') }],
  ['a key of another organization', { ...making({ id: 'c', askedMs: 0 }, 'k'), orgId: 'p' }],
])('a command that holds %s has a flaw', (_, command) => {
  expect(flawOfKeyCommand(command as KeyCommand)).toMatch(/^a command holds/);
  expect([making, deleting].map((make) => flawOfKeyCommand(make({ id: 'c', askedMs: 0 }, 'k')))).toEqual([undefined, undefined]);
});
