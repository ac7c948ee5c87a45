import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxCommandMs } from './decider.js';
import { keyDecider, type KeyCommand, type KeyEvent, type KeyState } from './key-decider.js';
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
      if (what === 'delete') return { command: { ...asked, does: what, keyId: `k${key}` }, atMs };
      return { command: { ...asked, does: what, key: aKey(`k${at % 6}`) }, atMs };
    });
  });

const holds = (promise: (all: readonly Delivery[]) => void): void => fc.assert(fc.property(deliveries, promise), { numRuns: 300 });

describe('keys of one organization, whatever commands come', () => {
  it('a first key is made only where there is none', () => {
    holds((all) => {
      let state = initial;
      const outcomes = all.flatMap(({ command, atMs }) => {
        const isFree = state.keyIds.size === 0;
        const events = keyDecider.decide(state, command, atMs);
        state = written([{ command, atMs }], state).state;
        return command.does === 'create_first' ? events.map((event) => [event.is, isFree]) : [];
      });
      for (const [is, isFree] of outcomes) expect(is).toBe(isFree ? 'created' : 'refused');
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
      for (const askedMs of state.decided.values()) expect(state.atMs - askedMs).toBeLessThan(maxCommandMs);
    });
  });
});

it('a clock that is behind makes no command younger', () => {
  const first: KeyCommand = { id: 'c1', askedMs: 0, does: 'create_first', key: aKey('k1') };
  const { state } = written([
    { command: first, atMs: 0 },
    { command: { id: 'c2', askedMs: 10_000, does: 'delete', keyId: 'k1' }, atMs: 10_000 },
  ]);
  expect(keyDecider.decide(state, first, 1)).toEqual([]);
});

it('of two callers at once who each make a first key one is refused', () => {
  const both = ['k1', 'k2'].map((keyId): Delivery => ({
    command: { id: keyId, askedMs: 0, does: 'create_first', key: aKey(keyId) },
    atMs: 1,
  }));
  expect(written(both).events).toMatchObject([{ is: 'created' }, { is: 'refused', why: 'has_keys' }]);
});
