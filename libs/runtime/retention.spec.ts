import { expect, it } from '@jest/globals';
import { MemoryDatabase, MemoryGenerationStore } from '#testing';
import type { KeptFrom } from '#stores';
import { type Keep, type LogGroups, Retention } from './retention.js';

const hourMs = 3_600_000;
const beginMs = Date.UTC(2026, 0, 31);
const days = (raw: number, minutes: number, hours: number, all: number, events: number): Keep => {
  const day = 24 * hourMs;
  return { raw: raw * day, '1m': minutes * day, '1h': hours * day, '1d': all * day, events: events * day };
};
const keep = days(1, 2, 3, Infinity, 4);
/** By the end of January. */
const moved = { raw: '2026-01-30', '1m': '2026-01-29', '1h': '2026-01-28', '1d': '1970-01-01', events: '2026-01-27' };
const nothing = { raw: '1970-01-01', '1m': '1970-01-01', '1h': '1970-01-01', '1d': '1970-01-01', events: '1970-01-01' };

/** One partition of each topic, and how much of it each group has committed. */
class Log implements LogGroups {
  readonly appendedMs: number[] = [];
  committed = 0;

  ends = async (topics: readonly string[]) => new Map(topics.map((topic) => [topic, [{ low: 0, high: this.appendedMs.length }]]));
  progress = async (_: string, ends: ReadonlyMap<string, readonly { readonly high: number }[]>) =>
    [...ends.values()].flat().map(({ high }) => ({ lag: Math.max(0, high - this.committed) }));
  appendedBefore = async (_: string, [offset]: readonly number[]) => this.appendedMs[offset!] ?? 0;
}

async function aStore(): Promise<{
  readonly store: MemoryGenerationStore;
  readonly dropped: string[];
  readonly kept: () => Promise<object>;
}> {
  const store = new MemoryGenerationStore(new MemoryDatabase());
  await store.ensure(1);
  const dropped: string[] = [];
  const dropBefore = async (_: number, { raw }: KeptFrom): Promise<void> => void dropped.push(dayOf(raw));
  Object.assign(store, { dropBefore });
  const kept = async (): Promise<object> =>
    Object.fromEntries(Object.entries(await store.keptFrom(1)).map(([kind, fromMs]) => [kind, dayOf(fromMs)]));
  return { store, dropped, kept };
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const live = () => ({ projection: 'telemetry', live: 1, building: null, highest: 1 });

it.each<[string, readonly (readonly [appendedHour: number, uncommitted: number])[], object]>([
  ['stands while nothing comes', [], nothing],
  [
    'moves once records have come for an hour, as the first of them says',
    [
      [0, 0],
      [0.5, 0],
      [1, 0],
    ],
    moved,
  ],
  [
    'stands while they have not',
    [
      [0, 0],
      [0.5, 0],
      [0.9, 0],
    ],
    nothing,
  ],
  [
    'stands while the groups have not brought what was there',
    [
      [0, 1],
      [1, 2],
      [2, 3],
    ],
    nothing,
  ],
  [
    'moves while the newest is under way',
    [
      [0, 1],
      [1, 1],
      [2, 1],
      [3, 1],
    ],
    moved,
  ],
  [
    'is not moved by a clock that was ahead for less than an hour',
    [
      [24 * 365, 0],
      [24 * 365 + 0.9, 0],
      [0, 0],
      [0.5, 0],
    ],
    nothing,
  ],
  [
    'is moved by one that stays ahead',
    [
      [240, 0],
      [241, 0],
    ],
    { raw: '2026-02-09', '1m': '2026-02-08', '1h': '2026-02-07', '1d': '1970-01-01', events: '2026-02-06' },
  ],
])('a boundary %s', async (_, records, expected) => {
  const log = new Log();
  const { store, kept } = await aStore();
  const retention = new Retention(keep, store, log, live);
  await retention.look();
  for (const [hour, uncommitted] of records) {
    log.appendedMs.push(beginMs + hour * hourMs);
    log.committed = log.appendedMs.length - uncommitted;
    await retention.look();
    await retention.look();
  }
  await expect(kept()).resolves.toEqual(expected);
});

it('what lies before a boundary goes at the look after the one that moved it, and at each later one, also after a crash', async () => {
  const log = new Log();
  const { store, dropped } = await aStore();
  let retention = new Retention(keep, store, log, live);
  for (const hour of [0, 1]) {
    log.appendedMs.push(beginMs + hour * hourMs);
    log.committed = log.appendedMs.length;
    for (let looks = 0; looks < 2; looks++) await retention.look();
  }
  expect(dropped).toEqual(['1970-01-01', '1970-01-01', '1970-01-01']);
  retention = new Retention(keep, store, log, live);
  await retention.look();
  expect(dropped).toHaveLength(3);
  await retention.look();
  expect(dropped.at(-1)).toBe('2026-01-30');
});

it('of processors with other settings the shortest counts, and none moves a boundary back', async () => {
  const log = new Log();
  const { store, kept } = await aStore();
  const all = [days(1, 9, 9, 9, 9), days(5, 5, 5, 5, 5), days(Infinity, Infinity, Infinity, Infinity, Infinity)];
  const retentions = all.map((its) => new Retention(its, store, log, live));
  for (const hour of [0, 1, 2]) {
    log.appendedMs.push(beginMs + hour * hourMs);
    log.committed = log.appendedMs.length;
    for (let looks = 0; looks < 2; looks++) for (const one of retentions) await one.look();
  }
  const five = '2026-01-26';
  await expect(kept()).resolves.toEqual({ raw: '2026-01-30', '1m': five, '1h': five, '1d': five, events: five });
});
