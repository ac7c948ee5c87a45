import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { maxCommandMs, type Decider } from './decider.js';
import { maxDecided, once, type Asked, type OnceEvent, type OnceState } from './once.js';

/** A number that only grows. */
type Grow = Asked & { readonly to: number };
const growing: Decider<number, Grow, { readonly to: number; readonly isGrown: boolean }> = {
  initial: 0,
  decide: (state, { to }) => [{ to, isGrown: to > state }],
  evolve: (state, { to, isGrown }) => (isGrown ? to : state),
};
const decider = once(growing, ({ to, isGrown }) => ({ word: isGrown ? 'grown' : 'refused', about: String(to) }));
type Event = OnceEvent<{ readonly to: number; readonly isGrown: boolean }>;

const grow = (id: string, to: number, askedMs = 0): Grow => ({ orgId: 'o', id, askedMs, by: { id: '', name: '' }, to });

interface Delivery {
  readonly command: Grow;
  readonly atMs: number;
}

/** What one writer makes of commands, in the order in which they come to it. */
function written(
  deliveries: readonly Delivery[],
  state: OnceState<number> = decider.initial,
): { state: OnceState<number>; events: Event[] } {
  const events: Event[] = [];
  for (const { command, atMs } of deliveries) {
    for (const event of decider.decide(state, command, atMs)) {
      events.push(event);
      state = decider.evolve(state, event);
    }
  }
  return { state, events };
}

const deliveries = fc.array(fc.record({ to: fc.nat(9), waitMs: fc.nat(2000), delayMs: fc.nat(7000) }), { maxLength: 40 }).map((steps) => {
  let atMs = 1_000_000;
  return steps.map(({ to, waitMs, delayMs }, at): Delivery => {
    atMs += waitMs;
    return { command: grow(`c${at}`, to, atMs - delayMs), atMs };
  });
});
const holds = (promise: (all: readonly Delivery[]) => void): void => fc.assert(fc.property(deliveries, promise), { numRuns: 300 });

describe('whatever commands come', () => {
  it('those that come again, after a crash or from a sender, change nothing and are not answered otherwise', () => {
    holds((all) => {
      const before = written(all);
      for (const from of [0, Math.floor(all.length / 2)])
        expect(written(all.slice(from), before.state)).toEqual({ events: [], state: before.state });
    });
  });

  it('each is decided once, in their order, and before it is too old', () => {
    holds((all) => {
      const { events, state } = written(all.flatMap((one) => [one, one]));
      const inTime = all.filter(({ command, atMs }) => atMs - command.askedMs < maxCommandMs).map(({ command }) => command);
      expect(events.map(({ decided }) => decided.id)).toEqual(inTime.map(({ id }) => id));
      expect(state.of).toBe(Math.max(0, ...inTime.map(({ to }) => to)));
    });
  });

  it('what is remembered of them is bounded by those of 5 seconds', () => {
    holds((all) => {
      const { state } = written(all);
      for (const { askedMs } of state.decided) expect(state.atMs - askedMs).toBeLessThan(maxCommandMs);
    });
  });
});

it('a refusal is decided too, and remembered', () => {
  const { state, events } = written([
    { command: grow('c1', 5), atMs: 1 },
    { command: grow('c2', 3), atMs: 1 },
  ]);
  expect(events.map(({ outcome }) => outcome)).toEqual([
    { word: 'grown', about: '5' },
    { word: 'refused', about: '3' },
  ]);
  expect(state.decided.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual(['c1 grown', 'c2 refused']);
});

it('a clock that is behind makes no command younger', () => {
  const { state } = written([
    { command: grow('c1', 1), atMs: 0 },
    { command: grow('c2', 2, 10_000), atMs: 10_000 },
  ]);
  expect(decider.decide(state, grow('c1', 1), 1)).toEqual([]);
});

it('a command of a clock that is far ahead is not decided', () => {
  expect(decider.decide(decider.initial, grow('c1', 1, maxCommandMs), 0)).toEqual([]);
});

it('1,000 commands of an organization are decided in 5 seconds, and more when those are forgotten', () => {
  const many = Array.from({ length: maxDecided + 5 }, (_, at): Delivery => ({ command: grow(`c${at}`, at + 1), atMs: 1 }));
  const { state, events } = written(many);
  expect(events).toHaveLength(maxDecided);
  expect(decider.decide(state, grow('next', 0, maxCommandMs), maxCommandMs)).toHaveLength(1);
});
