import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { forever, intervalMs, type PointBatch } from '#model';
import { keptFromTheBeginning, type StoredRow } from '#stores';
import { describeOnServers, eventually, ownGenerations, sharedQuestDb } from '#testing';
import { moving } from './kept.js';
import { openQuestDb, type QuestDb } from './quest-db.js';
import { Sql } from './sql.js';
import { partitionStartMs } from './tables.js';

const dayMs = intervalMs['1d'];
const firstMs = Date.UTC(2023, 10, 13);
const nowMs = firstMs + 5 * dayMs;
const day = (at: number): number => firstMs + at * dayMs;
const everything = { startMs: 0, endMs: 1e15 };

describe('Boundaries', () => {
  it.each<[string, string, string]>([
    ['HOUR', '2024-02-29T13:30:00Z', '2024-02-29T13:00:00Z'],
    ['DAY', '2024-02-29T13:30:00Z', '2024-02-29T00:00:00Z'],
    ['WEEK', '2024-03-03T23:00:00Z', '2024-02-26T00:00:00Z'],
    ['WEEK', '2024-02-26T00:00:00Z', '2024-02-26T00:00:00Z'],
    ['MONTH', '2024-02-29T13:30:00Z', '2024-02-01T00:00:00Z'],
    ['YEAR', '2024-02-29T13:30:00Z', '2024-01-01T00:00:00Z'],
  ])('by %s: what holds %s begins at %s', (by, time, start) => {
    expect(partitionStartMs(Date.parse(time), by)).toBe(Date.parse(start));
  });

  it.each<[string, Parameters<typeof moving>[2], string | undefined]>([
    ['forward', { raw: day(1) }, `INSERT INTO kept_g1 (ts, what) VALUES ('2023-11-14T00:00:00.000Z'::timestamp, 'raw')`],
    ['back', { raw: day(-1) }, undefined],
    ['nowhere', {}, undefined],
  ])('move %s', (_, to, statement) => {
    expect(moving('kept_g1', { ...keptFromTheBeginning, raw: day(0) }, to)).toBe(statement);
  });
});

describeOnServers('What QuestDB keeps', () => {
  const generation = ownGenerations();
  const open = (): QuestDb => openQuestDb({ ...sharedQuestDb(), clock: () => nowMs, partitioning: 'DAY' });
  let sql: Sql;
  let db: QuestDb;
  beforeAll(async () => {
    sql = new Sql(sharedQuestDb().pgUrl);
    db = open();
    await db.ensure(generation);
  });
  afterAll(async () => {
    await db.drop(generation);
    await Promise.all([db.close(), sql.close()]);
  });

  let offset = 0;
  const write = async (to: QuestDb, ...points: readonly (readonly [timestampMs: number, value: number])[]): Promise<void> => {
    const run = {
      metric: 'm',
      tags: '',
      timestampMs: Float64Array.from(points, ([time]) => time),
      value: Float64Array.from(points, ([, value]) => value),
    };
    const batch: PointBatch = { orgId: 'o', sourceId: 's', receivedMs: nowMs, series: [run] };
    const { series } = to.open(generation);
    await series.write([{ partition: 0, offset: offset++, value: batch }], forever);
    await series.checkpoint();
  };
  const partitions = async (table: string): Promise<string[]> =>
    (await sql.rows<[string]>(`SELECT name FROM table_partitions('${table}_g${generation}')`)).map(([name]) => name).sort();
  /** Starts and counts, as days. */
  const counts = async (from: QuestDb, interval: '1m' | '10m' | '1h' | '1d'): Promise<number[][]> => {
    const query = { orgId: 'o', sourceId: 's', metrics: undefined, window: everything, limit: 100, interval };
    const { series } = await from.open(generation).series.buckets(query);
    return series.flatMap(({ timestampMs, count }) => [...timestampMs].map((time, at) => [(time - firstMs) / dayMs, count[at]!]));
  };
  const lateIn = (of: QuestDb): unknown => of.metrics.find(({ name }) => name === 'headwater_late_points')!.read();
  const all = [0, 1, 2, 3].map((at) => [at, 2]);

  it('is what a boundary says, in whole partitions, and buckets answer as they did', async () => {
    await write(db, ...[0, 1, 2, 3].flatMap((at) => [[day(at), 1] as const, [day(at) + 1000, 2] as const]));
    const other = open();
    await expect(counts(other, '1m')).resolves.toEqual(all);
    await db.keepFrom(generation, { raw: day(2), '1m': day(1) });
    await db.dropBefore(generation, await db.keptFrom(generation));
    await eventually(async () => {
      expect(await partitions('points')).toEqual(['2023-11-15', '2023-11-16']);
      expect(await partitions('rollup_1m')).toEqual(['2023-11-14', '2023-11-15', '2023-11-16']);
    });
    await expect(counts(db, '1m')).resolves.toEqual(all.slice(1));
    await expect(counts(db, '10m')).resolves.toEqual(all.slice(1));
    await expect(counts(db, '1h')).resolves.toEqual(all);
    await expect(counts(db, '1d')).resolves.toEqual(all);
    await other.close();
  });

  it('is what another process is told at its start, which counts what comes too late', async () => {
    const other = open();
    await write(other, [day(1) + 2000, 9], [day(2) + 2000, 3]);
    expect(lateIn(other)).toBe(1);
    const expected = [0, 1, 2, 3].map((at) => [at, at === 2 ? 3 : 2]);
    await expect(counts(other, '1h')).resolves.toEqual(expected);
    await expect(counts(db, '1h')).resolves.toEqual(expected);
    await other.close();
  });

  it('is not made of what is left by a writer that has not heard of it yet; its rows go with the next drop', async () => {
    const other = open();
    await write(other, [day(3) + 2000, 3]);
    await db.keepFrom(generation, { raw: day(3) });
    await db.dropBefore(generation, await db.keptFrom(generation));
    await eventually(async () => expect(await partitions('points')).toEqual(['2023-11-16']));
    const before: StoredRow[] = [];
    for await (const row of db.rows(generation)) before.push(row);
    await write(other, [day(2) + 3000, 9]);
    expect(lateIn(other)).toBe(0);
    await expect(partitions('points')).resolves.toEqual(['2023-11-15', '2023-11-16']);
    const after: StoredRow[] = [];
    for await (const row of db.rows(generation)) after.push(row);
    expect(after).toEqual(before);
    await db.dropBefore(generation, await db.keptFrom(generation));
    await eventually(async () => expect(await partitions('points')).toEqual(['2023-11-16']));
    await other.close();
  });

  it('says nothing where the tables of an earlier version have no place for it, until a boundary moves', async () => {
    const earlier = generation + 1;
    await db.ensure(earlier);
    await sql.run([`DROP TABLE kept_g${earlier}`]);
    await expect(db.keptFrom(earlier)).resolves.toEqual(keptFromTheBeginning);
    await db.keepFrom(earlier, { events: day(1) });
    await expect(db.keptFrom(earlier)).resolves.toEqual({ ...keptFromTheBeginning, events: day(1) });
    await db.drop(earlier);
  });
});
