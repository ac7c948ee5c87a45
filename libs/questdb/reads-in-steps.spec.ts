import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import type { SqlRow } from './sql.js';
import { EventReads } from './event-reads.js';
import { Kept } from './kept.js';
import { SeriesReads } from './series-reads.js';
import type { Slices } from './slices.js';
import { type Layout, tablesOf } from './tables.js';

const count = 5000;
const window = { startMs: 0, endMs: 60_000 };
const query = { orgId: 'o', sourceId: 's', metrics: undefined, window, limit: count };
const slices = { of: () => Promise.resolve([window]) } as unknown as Slices;
const kept = new Kept({ rows: () => Promise.resolve([]) }, 'kept_g1');
const layout = { arrivalsAreKeys: true } as Layout;

// However fast the machine is, the time of a step is over at each look at the clock.
beforeAll(() => {
  let nowMs = performance.now();
  jest.spyOn(performance, 'now').mockImplementation(() => (nowMs += 1000));
});
afterAll(() => {
  jest.restoreAllMocks();
});

/** QuestDB answers at once, so that all turns of the event loop are those of the reads. */
const readsOf = (row: (at: number) => SqlRow) => {
  const rows = Array.from({ length: count }, (_, at) => row(at));
  const sql = { rows: () => Promise.resolve(rows) as Promise<never[]> };
  return {
    series: new SeriesReads(sql, tablesOf(1), slices, kept, () => 0),
    events: new EventReads(sql, tablesOf(1), slices, () => Promise.resolve(layout), kept),
  };
};

it.each<[string, () => Promise<unknown>]>([
  ['names', () => readsOf((at) => [`m.${at}`]).series.metricNames('o', 's')],
  ['the latest values', () => readsOf((at) => [`m.${at}`, at]).series.latest('o', 's', window)],
  ['points', () => readsOf((at) => [1, `m.${at}`, at]).series.raw(query)],
  ['buckets', () => readsOf((at) => [0, `m.${at}`, 1, 1, 1, 1]).series.buckets({ ...query, interval: '1m' })],
  [
    'a fleet',
    () => readsOf((at) => [0, `s${at}`, 1, 1, 1, 1]).series.fleet({ orgId: 'o', metric: 'm', window, interval: '1m', limit: 100 }),
  ],
  [
    'the first of many events that come in any order',
    () => readsOf((at) => [at, 'e', `${at}`, 1, 0, 'v', '']).events.entries({ ...query, limit: 1, last: false, name: undefined }),
  ],
  [
    'events',
    () => readsOf((at) => [at, 'e', `${at}`, 1, 0, 'v', '[["a","1"]]']).events.entries({ ...query, last: false, name: undefined }),
  ],
])('The event loop goes on while a long answer is made: %s', async (_, ask) => {
  let passed = false;
  const answer = ask();
  setImmediate(() => (passed = true));
  await answer;
  expect(passed).toBe(true);
});
