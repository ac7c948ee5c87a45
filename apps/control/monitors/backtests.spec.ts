import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Questions, Slices } from '#edge';
import { forever, maxAheadMs, maxRows, tagsKey, type MonitorDefinition, type Threshold } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { onlyGeneration } from '#stores';
import { Backtests } from './backtests.js';

const t = 1_700_000_000_000;
const threshold: Threshold = { min: null, max: 5, clearMin: null, clearMax: null, forMs: 0, severity: 'warning', message: '' };
const definition: MonitorDefinition = { name: '', sourceId: 's', metric: 'm', threshold, offline: null };
/** Three points at each time, which differ in their tags: the last row of a page is never the last of its time. */
const times = maxRows / 2;
const tags = ['a', 'b', 'c'];

const unlimited = { limits: () => ({}) };

let folder: string;
let storage: Storage;
let backtests: Backtests;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-backtest-'));
  storage = await openStorage(folder);
  backtests = new Backtests(new Questions(onlyGeneration(storage), unlimited, Date.now), new Slices(), () => t + 1e9);
  const timestampMs = Float64Array.from({ length: times }, (_, at) => t + at);
  // One of three is outside, each hundredth time.
  const series = tags.map((tag, nth) => ({
    metric: 'm',
    tags: tagsKey({ core: tag }),
    timestampMs,
    value: Float64Array.from({ length: times }, (_, at) => (nth === 2 && at % 100 === 99 ? 9 : 1)),
  }));
  await storage.series.write([{ partition: 0, offset: 0, value: { orgId: 'o', sourceId: 's', receivedMs: t, series } }], forever);
  await storage.series.checkpoint();
});
afterAll(async () => {
  await storage.close();
  await rm(folder, { recursive: true });
});

it('a backtest reads page by page, and keeps the points of one time together', async () => {
  const { alerts, points, untilMs } = await backtests.run('o', definition, { startMs: t, endMs: t + times });
  expect([points, untilMs]).toEqual([3 * times, t + times]);
  const expected = Array.from({ length: times / 100 }, (_, at) => [t + 100 * at + 99, t + 100 * at + 100]);
  const found = alerts.filter(({ resolvedMs }) => resolvedMs === null).map(({ triggeredMs }) => triggeredMs);
  expect(found).toEqual(expected.map(([ms]) => ms));
  const resolved = alerts.flatMap(({ resolvedMs }) => resolvedMs ?? []);
  expect(resolved).toEqual(expected.slice(0, -1).map(([, ms]) => ms));
});

it.each([
  ['of nobody', 'p', { startMs: t, endMs: t + 10 }, 0],
  ['of a part of the time', 'o', { startMs: t + 10, endMs: t + 20 }, 30],
  ['of a time without points', 'o', { startMs: 1, endMs: 2 }, 0],
  ['of a time that is ahead', 'o', { startMs: t + 2e9, endMs: t + 3e9 }, 0],
])('a backtest %s comes to its end', async (_, orgId, window, expected) => {
  const { points, untilMs } = await backtests.run(orgId, definition, window);
  expect([points, untilMs]).toEqual([expected, window.endMs]);
});

it('points that are ahead of the clock do not count', async () => {
  const behind = new Backtests(new Questions(onlyGeneration(storage), unlimited, Date.now), new Slices(), () => t - maxAheadMs + 9);
  const window = { startMs: t, endMs: t + times };
  expect(await behind.run('o', definition, window)).toMatchObject({ points: 30, untilMs: window.endMs });
});
