import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { forever, type Lease, noTags, type PointBatch, rollupIntervals, type SeriesRun, type Tags, tagsKey, TelemetryError } from '#model';
import type { Placed, SeriesStore } from '#stores';
import { describeOnServers, eventually, ownGenerations, Random, SeriesModel, sharedQuestDb } from '#testing';
import { Client } from './client.js';
import { Deletions } from './deletions.js';
import { type WritePath, Figures, type LineSink, Outage } from './delivery.js';
import { HttpSink } from './http-sink.js';
import { type Layout, newest, creating, levels, type Tables, tablesOf } from './tables.js';
import { Kept } from './kept.js';
import { Lookups } from './lookups.js';
import { RollupTables } from './rollup-tables.js';
import { SeriesNames } from './series-names.js';
import { SeriesReads } from './series-reads.js';
import { QuestDbSeriesStore } from './series-store.js';
import { Slices } from './slices.js';
import { type SqlRow, Sql, type Value } from './sql.js';
import { Visibility } from './visibility.js';

const everything = { startMs: 0, endMs: 1e15 };
const all = 1_000_000;
/** When every stored row is old enough to be taken. */
const muchLater = 253_402_300_800_000;

/** How the tables are made, how often a question gets no answer, what a body of points waits for, and which questions get an answer without rows. */
const usual = {
  layout: newest,
  noAnswer: 0.02,
  beforePoints: (): Promise<void> => Promise.resolve(),
  overlooks: (text: string): boolean => text === '',
};

/** Counts what a writer asks of the store, and takes the lease away between two of these. */
class Steps {
  #left = 0;
  #lease: Lease | undefined;

  /** A lease that is lost after so many steps, or when there is a newer one. */
  lease(steps: number): Lease {
    const lease = { held: () => this.#lease === lease && this.#left > 0 };
    this.#lease = lease;
    this.#left = steps;
    return lease;
  }

  pass<T>(work: () => Promise<T>): Promise<T> {
    this.#left--;
    return work().finally(() => this.#left--);
  }
}

describeOnServers('Rollups in QuestDB', () => {
  const { httpUrl, pgUrl } = sharedQuestDb();
  const generation = ownGenerations();
  let sql: Sql;
  beforeAll(() => void (sql = new Sql(pgUrl)));
  afterAll(() => sql.close());

  /** The store of a process that is interrupted after some steps; as a crash it also forgets the lease's writer. */
  function aStore(
    tables: Tables,
    steps: Steps,
    random: Random,
    { layout, noAnswer, beforePoints, overlooks } = usual,
  ): { readonly store: QuestDbSeriesStore; end(): Promise<void> } {
    const sinks = [new HttpSink(httpUrl), new HttpSink(httpUrl)];
    const counted = (sink: LineSink): LineSink => ({ send: (body, lease) => steps.pass(() => sink.send(body, lease)) });
    const client = new Client(httpUrl);
    class CountedSql extends Sql {
      override rows<R extends SqlRow>(text: string, values?: readonly Value[], patienceMs?: number): Promise<R[]> {
        if (random.chance(noAnswer)) return Promise.reject(new TelemetryError('store_unavailable', 'not now'));
        return overlooks(text) ? Promise.resolve([]) : steps.pass(() => super.rows<R>(text, values, patienceMs));
      }

      override each(text: string, values: readonly Value[], take: (row: SqlRow) => void, patienceMs?: number): Promise<void> {
        if (random.chance(noAnswer)) return Promise.reject(new TelemetryError('store_unavailable', 'not now'));
        return steps.pass(() => super.each(text, values, take, patienceMs));
      }
    }
    const counting = new CountedSql(pgUrl, 4);
    const pointSink = counted(sinks[0]!);
    const heldUp: LineSink = { send: (body, lease) => beforePoints().then(() => pointSink.send(body, lease)) };
    const visibility = new Visibility(counting);
    const figures = new Figures();
    const path = (...names: readonly string[]): WritePath => ({ visibility, outage: new Outage(), figures, tables: names });
    const rollups = levels.map(({ table }) => tables[table]);
    const kept = new Kept(counting, tables.kept);
    const parts = {
      tables,
      partitioning: 'MONTH' as const,
      points: { ...path(tables.points), sink: heldUp },
      rollups: { ...path(...rollups), sink: counted(sinks[1]!) },
      all: path(tables.points, ...rollups, tables.metrics),
      deletions: new Deletions({ sql: counting, tables, kept }),
      client,
      sql: counting,
      kept,
      layout: () => Promise.resolve(layout),
    };
    const store = new QuestDbSeriesStore(parts, reads(tables, muchLater));
    const end = async (): Promise<void> => {
      await store.end();
      for (const sink of sinks) sink.close();
      await client.close();
      await counting.close();
    };
    return { store, end };
  }

  const reads = (tables: Tables, now: number): SeriesReads =>
    new SeriesReads(new Lookups(sql, tables), tables, new Slices(sql, tables), new Kept(sql, tables.kept), () => now);

  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  const histories = Number(process.env['HISTORIES'] ?? 2);

  it.each<[string, Layout, number]>([
    ['newest', newest, 0],
    ['earlier, whose keys leave tags out', { tagsAreKeys: false, arrivalsAreKeys: false }, histories],
  ])(
    `are what brute force gives, with the lease lost or the process gone between any two steps (SEED=${seed}, ${histories} histories); tables: %s`,
    async (_, layout, from) => {
      for (let at = from; at < from + histories; at++) {
        const random = new Random(seed + at);
        const tables = tablesOf(generation + at);
        await sql.run(creating(tables, 'MONTH', layout));
        const records = aLiveHistory(random);
        await project(records, random, tables, layout);
        const model = new SeriesModel();
        for (const { value } of records) model.write(layout.tagsAreKeys ? value : withoutTags(value));
        for (const sourceId of sourceIds) {
          for (const now of [muchLater, 0]) await expectSame(reads(tables, now), model, 'org', sourceId);
        }
        await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
      }
      expect(histories).toBeGreaterThan(0);
    },
    600_000,
  );

  it('have a point of a window that a checkpoint makes anew, when it comes after the checkpoint has begun', async () => {
    const tables = tablesOf(generation + 2 * histories);
    await sql.run(creating(tables, 'MONTH'));
    const steps = new Steps();
    // The point that comes late is not visible while its window is made anew.
    const settled = Promise.withResolvers<void>();
    let bodies = 0;
    const beforePoints = (): Promise<void> => (bodies++ === 0 ? Promise.resolve() : settled.promise);
    const process = aStore(tables, steps, new Random(0), { ...usual, noAnswer: 0, beforePoints });
    const { store } = process;
    const lease = steps.lease(Infinity);
    const start = 1_700_000_040_000;
    const write = async (offset: number, ...timestampMs: readonly number[]): Promise<void> => {
      // So large that their sum is made again from the points.
      const large = Float64Array.from(timestampMs, () => 1e308);
      const series = [{ metric: 'a', tags: '', timestampMs: Float64Array.from(timestampMs), value: large }];
      const value = { orgId: 'org', sourceId: 's1', receivedMs: start, series };
      await store.write([{ partition: 0, offset, value }], lease);
    };
    await write(0, start, start + 1000);
    const checkpoint = store.checkpoint();
    await setImmediate();
    await write(1, start + 2000);
    await checkpoint;
    settled.resolve();
    await store.checkpoint();
    for (const interval of rollupIntervals) {
      const query = { orgId: 'org', sourceId: 's1', metrics: undefined, window: everything, limit: all, interval };
      const { series } = await reads(tables, muchLater).buckets(query);
      expect(series.map(({ count }) => [...count])).toEqual([[3]]);
    }
    await process.end();
    await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
  });

  it('are made again when the store answers nothing for points that it has, and no checkpoint is done before', async () => {
    const tables = tablesOf(generation + 2 * histories + 1);
    await sql.run(creating(tables, 'MONTH'));
    const steps = new Steps();
    const start = 1_700_000_040_000;
    // Also when it is asked again, but for the last.
    const left: string[] = [tables.points, tables.points, tables.rollup1m, tables.rollup1m, tables.rollup1h];
    const overlooks = (text: string): boolean =>
      text.includes('GROUP BY b') && text.includes(`FROM ${left[0]}`) && left.shift() !== undefined;
    const process = aStore(tables, steps, new Random(0), { ...usual, noAnswer: 0, overlooks });
    const { store } = process;
    const series = [{ metric: 'a', tags: '', timestampMs: Float64Array.of(start - 7_200_000, start), value: Float64Array.of(1, 2) }];
    const value = { orgId: 'org', sourceId: 's1', receivedMs: start + 3_600_000, series };
    await store.write([{ partition: 0, offset: 0, value }], steps.lease(Infinity));
    for (const interval of ['1m', '1h']) await expect(store.checkpoint()).rejects.toThrow(`answers nothing for 2 buckets of ${interval}`);
    await store.checkpoint();
    expect(left).toEqual([]);
    for (const interval of rollupIntervals) {
      const query = { orgId: 'org', sourceId: 's1', metrics: undefined, window: everything, limit: all, interval };
      const { series: found } = await reads(tables, muchLater).buckets(query);
      expect(found.map(({ count }) => [...count])).toEqual([interval === '1d' ? [2] : [1, 1]]);
    }
    await process.end();
    await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
  });

  it('are folded as they come for each set of tags by itself: nothing is asked of the store at a checkpoint', async () => {
    const tables = tablesOf(generation + 2 * histories + 2);
    await sql.run(creating(tables, 'MONTH'));
    const asked: string[] = [];
    const overlooks = (text: string): boolean => {
      if (text.includes('GROUP BY b')) asked.push(text);
      return false;
    };
    const process = aStore(tables, new Steps(), new Random(0), { ...usual, noAnswer: 0, overlooks });
    const start = 1_700_000_040_000;
    const sets: readonly Tags[] = [noTags, ...Array.from({ length: 8 }, (_, core) => tagsKey({ core: String(core) }))];
    const records = Array.from({ length: 3 }, (_, offset): Placed<PointBatch> => {
      const runs = sets.map((tags, at) => ({
        metric: 'cpu',
        tags,
        timestampMs: Float64Array.of(start + 60_000 * offset, start + 60_000 * offset + 1000),
        value: Float64Array.of(at, at),
      }));
      return { partition: 0, offset, value: { orgId: 'org', sourceId: 's1', receivedMs: start + 60_000 * offset, series: runs } };
    });
    await process.store.write(records, forever);
    await process.store.checkpoint();
    expect(asked).toEqual([]);
    const query = { orgId: 'org', sourceId: 's1', metrics: undefined, window: everything, limit: all, interval: '1m' } as const;
    const { series } = await reads(tables, muchLater).buckets(query);
    expect(series.map(({ count, max }) => [[...count], [...max]])).toEqual([
      [
        [18, 18, 18],
        [8, 8, 8],
      ],
    ]);
    await process.end();
    await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
  });

  it('and points are found in each answer, while two processors take in new sources all the time', async () => {
    const tables = tablesOf(generation + 2 * histories + 3);
    await sql.run(creating(tables, 'MONTH'));
    const model = new SeriesModel();
    const known: string[] = [];
    const points = 3;
    const start = 1_700_000_040_000;
    const aRecord = (sourceId: string): PointBatch => {
      const timestampMs = Float64Array.from({ length: points }, (_, at) => start + at * 90 * minutes);
      return {
        orgId: 'org',
        sourceId,
        receivedMs: start + 1000 * minutes,
        series: [{ metric: 'a', tags: '', timestampMs, value: Float64Array.of(1, 2, 3) }],
      };
    };
    const over = new AbortController();
    const nothing: string[] = [];
    const reading = async (): Promise<void> => {
      while (!over.signal.aborted) {
        await setImmediate();
        // Mostly the newest.
        const sourceId = known.at(-1 - Math.floor(Math.random() ** 2 * known.length));
        if (sourceId === undefined) continue;
        const query = { orgId: 'org', sourceId, metrics: ['a', 'b'], window: everything, limit: all };
        const { series } = await reads(tables, muchLater).raw(query);
        if (series[0]?.value.length !== points) nothing.push(`${sourceId} of ${known.length}`);
      }
    };
    const taking = async (name: string): Promise<void> => {
      const taker = aStore(tables, new Steps(), new Random(0), { ...usual, noAnswer: 0 });
      const lease = { held: () => true };
      for (let first = 0; first < 120; first += 10) {
        const made = Array.from({ length: 10 }, (_, at) => `${name}${first + at}`);
        const records = made.map((sourceId, at) => ({ partition: 0, offset: first + at, value: aRecord(sourceId) }));
        for (const { value } of records) model.write(value);
        await taker.store.write(records, lease);
        await taker.store.checkpoint();
        known.push(...made);
      }
      await taker.end();
    };
    const readers = Array.from({ length: 4 }, reading);
    await Promise.all([taking('left'), taking('right')]).finally(() => over.abort());
    await Promise.all(readers);
    expect(nothing).toEqual([]);
    for (const sourceId of known) await expectSame(reads(tables, muchLater), model, 'org', sourceId);
    await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
  }, 300_000);

  it('are looked for by their sources, some at a time, however many rows a window has', async () => {
    const tables = tablesOf(generation + 2 * histories + 4);
    await sql.run(creating(tables, 'MONTH'));
    const [sources, metrics, startMs] = [50_000, 3, 1_700_006_400_000];
    const rows = `SELECT ${startMs}000::timestamp, 'org', 'source ' || ((x - 1) / ${metrics}), 'm' || (x % ${metrics}), 1.0, 1.0, 1.0, 1`;
    await sql.run([`INSERT INTO ${tables.rollup1d} ${rows} FROM long_sequence(${sources * metrics})`]);
    await eventually(() => new Visibility(sql).of([tables.rollup1d], () => undefined), 120_000);
    const path = { visibility: new Visibility(sql), outage: new Outage(), figures: new Figures(), tables: [], sink: new HttpSink(httpUrl) };
    const parts = { sql, tables, names: new SeriesNames(true), partitioning: 'MONTH' as const, kept: new Kept(sql, tables.kept) };
    const { levels: rollups } = new RollupTables(path, parts, forever);
    const taken: string[] = [];
    let [before, most] = [0, 0];
    const over = rollups
      .at(-1)!
      .sourcesWithRow(startMs, (source) => taken.push(source))
      .then(() => true);
    // Between two turns of the event loop.
    for (let isOver = false; !isOver; before = taken.length) {
      isOver = await Promise.race([over, setImmediate(false)]);
      most = Math.max(most, taken.length - before);
    }
    expect([taken.length, new Set(taken).size]).toEqual([sources, sources]);
    expect(most).toBeLessThan(sources / 2);
    path.sink.close();
    await sql.run(Object.values(tables).map((table) => `DROP TABLE ${table}`));
  });

  /** Delivers from the last commit on, under one lease after the other, until all is committed. */
  async function project(records: readonly Placed<PointBatch>[], random: Random, tables: Tables, layout: Layout): Promise<void> {
    let committed = 0;
    const steps = new Steps();
    let process = aStore(tables, steps, random, { ...usual, layout });
    for (let attempt = 1; committed < records.length; attempt++) {
      if (random.chance(0.5)) {
        await process.end();
        process = aStore(tables, steps, random, { ...usual, layout });
      }
      committed = await deliver(
        process.store,
        records,
        committed,
        steps.lease(attempt > 40 ? Infinity : random.whole(1, random.pick([60, 300]))),
        random,
      );
    }
    await process.end();
  }

  async function deliver(
    store: QuestDbSeriesStore,
    records: readonly Placed<PointBatch>[],
    from: number,
    lease: Lease,
    random: Random,
  ): Promise<number> {
    let committed = from;
    try {
      for (let next = from; next < records.length && lease.held();) {
        const end = Math.min(records.length, next + random.whole(1, 6));
        await store.write(records.slice(next, end), lease);
        next = end;
        if (random.chance(0.2)) await store.flush();
        if (next < records.length && !random.chance(0.2)) continue;
        await eventually(() => checkpointUnder(lease, store));
        if (lease.held()) committed = next;
      }
    } catch {
      // The lease is lost, or there was no answer: all that is not committed comes again.
    }
    return committed;
  }
});

/** A checkpoint that fails is tried again as long as the lease is held. */
async function checkpointUnder(lease: Lease, store: SeriesStore): Promise<void> {
  if (lease.held()) await store.checkpoint();
}

/** Records as devices send them while they are online: most points are new, some come late, again, long after or ahead of their time. Now and then a device is deleted, or a metric of it. */
function aLiveHistory(random: Random): Placed<PointBatch>[] {
  let nowMs = 1_700_000_000_000 + random.whole(0, 3_600_000);
  return Array.from({ length: random.whole(10, 80) }, (_, offset) => {
    nowMs += random.pick([0, 500, 5000, 20_000, 70_000]);
    const series = Array.from({ length: random.whole(1, 3) }, () => aRun(random, nowMs));
    const head = { orgId: 'org', sourceId: random.pick(sourceIds), receivedMs: nowMs + random.whole(-2000, 2000) };
    const value = random.chance(0.1) ? { ...head, series: [], deleted: { metric: random.pick([null, 'a']) } } : { ...head, series };
    return { partition: 0, offset, value };
  });
}

const sourceIds = ['s1', 's2'];
const minutes = 60_000;
/** Most devices send none. */
const tagSets: readonly Tags[] = [noTags, noTags, tagsKey({ core: '0' }), tagsKey({ core: '1' })];

const withoutTags = (batch: PointBatch): PointBatch => ({ ...batch, series: batch.series.map((run) => ({ ...run, tags: noTags })) });

function aRun(random: Random, nowMs: number): SeriesRun {
  const behindMs = random.chance(0.8) ? 0 : random.pick([3000, 70_000, 110_000, 90 * minutes, 3000 * minutes, -15 * minutes]);
  const length = random.whole(1, 4);
  const timestampMs = Float64Array.from({ length }, (_, at) => 1000 * Math.floor((nowMs - behindMs) / 1000 + at));
  const value = Float64Array.from({ length }, () => (random.chance(0.02) ? Number.MAX_VALUE : random.whole(-100, 100) / 7));
  return { metric: random.pick(['a', 'b']), tags: random.pick(tagSets), timestampMs, value };
}

async function expectSame(store: Pick<SeriesStore, 'buckets' | 'raw'>, model: SeriesModel, orgId: string, sourceId: string): Promise<void> {
  const query = { orgId, sourceId, metrics: undefined, window: everything, limit: all };
  const raw = await store.raw(query);
  expect(raw.series.reduce((sum, { value }) => sum + value.length, 0)).toBe(model.raw(query).rows.length);
  for (const interval of rollupIntervals) {
    const { series } = await store.buckets({ ...query, interval });
    const rows = series.flatMap(({ metric, timestampMs, min, max, avg, count }) =>
      [...timestampMs].map((time, at) => ({ key: `${metric} ${time}`, min: min[at]!, max: max[at]!, count: count[at]!, avg: avg[at]! })),
    );
    const expected = new Map(model.buckets({ ...query, interval }).rows.map((row) => [`${row.name} ${row.timestampMs}`, row]));
    expect(rows.map(({ key }) => key).toSorted()).toEqual([...expected.keys()].toSorted());
    for (const { key, avg, ...exact } of rows) {
      const { min, max, count, avg: expectedAvg } = expected.get(key)!;
      expect({ key, ...exact }).toEqual({ key, min, max, count });
      expect(Math.abs(avg - expectedAvg)).toBeLessThanOrEqual(1e-9 * Math.max(Math.abs(min), Math.abs(max)));
    }
  }
}
