import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entry, Runner } from '#log';
import { noTags } from '#model';
import { processorsOf } from '#testing';
import { deletionOf, events, organizations, points } from '#topics';
import { projectorsOf } from '../../../apps/processors/projectors-of.js';
import { backup } from '../backup/backup.js';
import { restore } from '../backup/restore.js';
import { formatFileName } from '../data-folder.js';
import type { SqliteSeriesStore } from '../series/series-store.js';
import { openStorage, type OpenedStorage, type StorageOptions } from '../storage.js';
import { storeFileName } from '../store-file.js';
import { rebuild } from './rebuild.js';
import { verify } from './verify.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const beginMs = Date.UTC(2026, 0, 1);
const days = 20;
const keepEventsMs = 3 * dayMs;
const keep = { raw: 4 * dayMs, '1m': 4 * dayMs, '1h': Infinity, '1d': Infinity };

/**
 * Has a point and an event of each hour taken when they were measured, for an organization that is shown events for two days and points for four;
 * the source is deleted before an hour.
 */
async function live(dir: string, options: StorageOptions, deletedHour?: number): Promise<void> {
  let nowMs = beginMs;
  const storage = await openStorage(dir, { clock: () => nowMs, ...options });
  const runners = processorsOf(storage).map((one) => new Runner(storage.log, one, { checkpointMs: 1e9, report: () => {} }));
  const series = storage.series as SqliteSeriesStore;
  const limitsOfPoints = { keep_points_hours: 96, keep_1m_hours: 96, keep_1h_hours: 96, keep_1d_hours: 96 };
  const limits = { keep_events_hours: 48, ...limitsOfPoints };
  const organization = {
    orgId: 'o',
    name: '',
    paymentMethodOnFile: true,
    createdMs: beginMs,
    limits,
    enforceReadScope: false,
    deletedMs: null,
  };
  await storage.log.append([entry(organizations, organization)]);
  for (const runner of runners) await runner.start();
  for (let hour = 0; hour < 24 * days; hour++, nowMs += hourMs) {
    const measured = [{ metric: 'm', tags: noTags, timestampMs: Float64Array.of(nowMs), value: Float64Array.of(hour) }];
    const of = { orgId: 'o', sourceId: 's', receivedMs: nowMs };
    const told = { metric: 'door', timestampMs: nowMs, value: `${hour}`, isJson: false, tags: noTags, place: 0, ordinal: 0 };
    if (hour === deletedHour) await storage.log.append(deletionOf(of, null, nowMs));
    await storage.log.append([entry(points, { ...of, series: measured }), entry(events, { ...of, origin: 'source', events: [told] })]);
    if (hour % 8 > 0) continue;
    for (const runner of runners) {
      await runner.caughtUp();
      await runner.checkpoint();
    }
    await series.settled();
    await storage.log.tidied();
  }
  for (const runner of runners) {
    await runner.caughtUp();
    await runner.checkpoint();
    await runner.stop();
  }
  await series.settled();
  await storage.close();
}

async function hoursOf({ series }: OpenedStorage): Promise<readonly (readonly [hour: number, value: number])[]> {
  const query = { orgId: 'o', sourceId: 's', metrics: undefined, window: { startMs: 0, endMs: 1e13 }, limit: 10_000 };
  const [found] = (await series.buckets({ ...query, interval: '1h' })).series;
  return Array.from(found!.timestampMs, (ms, at) => [(ms - beginMs) / hourMs, found!.avg[at]!]);
}

async function firstPointOf({ series }: OpenedStorage): Promise<number> {
  const query = { orgId: 'o', sourceId: 's', metrics: undefined, window: { startMs: 0, endMs: 1e13 }, limit: 10_000 };
  return ((await series.raw(query)).series[0]!.timestampMs[0]! - beginMs) / dayMs;
}

const hoursOfEvents = async (storage: OpenedStorage): Promise<readonly number[]> =>
  (await storage.events.tail('o', 's', 10_000)).map(({ value }) => Number(value));

describe('a folder that has forgotten points and events, and what its log had of them', () => {
  let folder: string;
  let dir: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-forgotten-'));
    dir = join(folder, 'data');
    await live(dir, { keepLogMs: dayMs, keep, keepEventsMs });
  });
  afterAll(() => rm(folder, { recursive: true }));

  const expectAllHours = async (of: string): Promise<void> => {
    const storage = await openStorage(of);
    expect(storage.log.begins).toBeGreaterThan(24 * (days - 8));
    expect(await firstPointOf(storage)).toBeGreaterThan(days - 7);
    expect(await hoursOfEvents(storage)).toEqual(Array.from({ length: 24 * 4 }, (_, hour) => 24 * (days - 4) + hour));
    expect(await hoursOf(storage)).toEqual(Array.from({ length: 24 * days }, (_, hour) => [hour, hour]));
    await storage.close();
  };

  it('has every hour, and differs in nothing from its log', async () => {
    await expectAllHours(dir);
    expect(await verify(dir, projectorsOf)).toMatchObject({ differences: 0, dropped: expect.any(Number) });
  });

  it('has every hour after a rebuild, which makes the newest points from the log again', async () => {
    const { records } = await rebuild(dir, projectorsOf);
    expect(records).toBeGreaterThan(0);
    await expectAllHours(dir);
    expect((await verify(dir, projectorsOf)).differences).toBe(0);
  });

  it('has every hour when it is restored from a backup', async () => {
    const { files } = await backup({ data: dir }, join(folder, 'forgotten.tar'));
    expect(await restore(join(folder, 'forgotten.tar'), join(folder, 'restored'))).toMatchObject({ files });
    await expectAllHours(join(folder, 'restored'));
  });
});

it.each<[string, StorageOptions, number, number, string]>([
  ['three days', { keepEventsMs }, 4, 0, 'headwater 3\n'],
  ['what its organization is shown', { keepsForOrganizations: true }, 3, days - 5, 'headwater 3\n'],
  ['all', {}, days, 0, 'headwater 2\n'],
])('a folder with a whole log that keeps of its events %s has nothing else after a rebuild', async (_, options, kept, firstDay, format) => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-forgotten-'));
  await live(folder, options);
  expect(await readFile(join(folder, formatFileName), 'utf8')).toBe(format);
  const firstHour = async (): Promise<number> => {
    const storage = await openStorage(folder);
    const [first] = await hoursOfEvents(storage);
    expect(await firstPointOf(storage)).toBe(firstDay);
    await storage.close();
    using db = new DatabaseSync(join(folder, storeFileName));
    expect(db.prepare('SELECT count(*) AS count FROM event').get()).toEqual({ count: 24 * kept });
    return first!;
  };
  expect(await firstHour()).toBe(24 * (days - kept));
  expect((await verify(folder, projectorsOf)).differences).toBe(0);
  await rebuild(folder, projectorsOf);
  expect(await firstHour()).toBe(24 * (days - kept));
  expect((await verify(folder, projectorsOf)).differences).toBe(0);
  await rm(folder, { recursive: true });
});

it.each<[string, number, Pick<StorageOptions, 'keepLogMs'>]>([
  ['most of whose points are archived since', 10, {}],
  ['by a record that the log still has, while it has dropped older ones', 19, { keepLogMs: dayMs }],
])('has of a source that was deleted only what came later, also after a rebuild: one %s', async (_, day, log) => {
  const folder = await mkdtemp(join(tmpdir(), 'headwater-forgotten-'));
  await live(folder, { ...log, keep, keepEventsMs }, 24 * day);
  const hours = Array.from({ length: 24 * (days - day) }, (__, hour) => 24 * day + hour);
  for (let rebuilds = 0; rebuilds < 2; rebuilds++) {
    const storage = await openStorage(folder);
    expect(await hoursOf(storage)).toEqual(hours.map((hour) => [hour, hour]));
    expect(await hoursOfEvents(storage)).toEqual(hours.slice(-24 * 4));
    await storage.close();
    expect(await verify(folder, projectorsOf)).toMatchObject({ differences: 0 });
    await rebuild(folder, projectorsOf);
  }
  await rm(folder, { recursive: true });
});
