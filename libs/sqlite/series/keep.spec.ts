import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { batchFrom, compareUtf8, intervalMs, type PointBatch } from '#model';
import type { FleetQuery, Placed, SeriesQuery } from '#stores';
import { aSeriesHistory, compareSeries, Random, SeriesModel, type SeriesHistory } from '#testing';
import { BoundaryKeeper, type KeptSince, keptSince, readBoundaries } from '../boundaries.js';
import { StoreThreads } from '../store-threads.js';
import { archiveLevelOf } from './archive.js';
import { type Keep, Keeper } from './keeper.js';
import { type Boundaries, fromTheBeginning, type Kept } from './kept.js';
import type { Run } from './run.js';
import { SqliteSeriesStore } from './series-store.js';

const dayMs = intervalMs['1d'];
const hourMs = intervalMs['1h'];
const days = (raw: number, minutes: number, hours: number, all: number): Keep => ({
  raw: raw * dayMs,
  '1m': minutes * dayMs,
  '1h': hours * dayMs,
  '1d': all * dayMs,
});

/** The model of a store that answers from these boundaries on. */
class KeptModel {
  constructor(
    private readonly model: SeriesModel,
    private readonly from: Boundaries,
    /** Metrics of each source that have a name and perhaps no points. */
    private readonly named: ReadonlyMap<string, readonly string[]>,
  ) {}

  metricNames = (orgId: string, sourceId: string) => {
    const names = new Set([...this.model.metricNames(orgId, sourceId), ...(this.named.get(sourceId) ?? [])]);
    return [...names].toSorted(compareUtf8);
  };

  latest = (orgId: string, sourceId: string, window: SeriesQuery['window']) => this.model.latest(orgId, sourceId, this.#cut('raw', window));
  raw = (query: SeriesQuery) => this.model.raw(this.#kept(query));
  tagged = (query: SeriesQuery) => this.model.tagged(this.#kept(query));
  buckets = (query: Parameters<SeriesModel['buckets']>[0]) =>
    this.model.buckets({ ...query, window: this.#cut(archiveLevelOf[query.interval], query.window) });
  fleet = (query: FleetQuery) => this.model.fleet({ ...query, window: this.#cut(archiveLevelOf[query.interval], query.window) });

  #kept(query: SeriesQuery): SeriesQuery {
    return { ...query, window: this.#cut('raw', query.window) };
  }

  #cut(level: keyof Boundaries, { startMs, endMs }: SeriesQuery['window']): SeriesQuery['window'] {
    return { startMs: Math.max(startMs, this.from[level]), endMs };
  }
}

const metricsOf = ({ series }: PointBatch): string[] =>
  series.filter(({ timestampMs }) => timestampMs.length > 0).map(({ metric }) => metric);

/** A store that forgets, and what it must have taken of each record. */
class Life {
  #keeper: Keeper;
  #organizations: BoundaryKeeper;
  #taken: PointBatch[] = [];
  /** What was taken of records before a crash, and is decided anew after it: the second part of a record may be refused then, and its names stay or go. */
  #refused: PointBatch[] = [];
  #store!: SqliteSeriesStore;
  #threads!: StoreThreads;

  constructor(
    private readonly file: string,
    private readonly keep: Keep,
    private readonly points: number,
    /** How many days organizations have, where they have less. */
    private readonly less: Readonly<Record<string, number>> = {},
    /** What sources in memory may take. */
    private readonly activeBytes?: number,
  ) {
    this.#keeper = new Keeper(keep, fromTheBeginning);
    this.#organizations = this.#organizationsFrom(new Map());
  }

  get store(): SqliteSeriesStore {
    return this.#store;
  }

  async open(): Promise<void> {
    this.#threads = await new StoreThreads().open({ file: this.file, epochs: [] });
    const size = { chunks: Math.ceil(this.points / 3), chunkPoints: 3, pieces: this.points };
    this.#store = await SqliteSeriesStore.open(this.#threads.writer, this.#threads.reader, size, this.keep, this.#less, this.activeBytes);
  }

  async write(records: readonly Placed<PointBatch>[]): Promise<void> {
    for (const record of records) this.#decide(record);
    await this.#store.write(records);
  }

  /** Ends it where it stands, and begins again with the records from the beginning on. */
  async crash(records: readonly Placed<PointBatch>[]): Promise<void> {
    await this.end();
    const { wanted } = this.#kept;
    const runs = this.#rows<Run>('run').toSorted((a, b) => a.lastArena - b.lastArena);
    const offsets = runs.at(-1)?.offsets ?? {};
    this.#keeper = new Keeper(this.keep, wanted);
    this.#organizations = this.#organizationsFrom(this.#boundaries);
    for (const record of records) {
      // What was refused for good lies before a boundary that is known for good.
      if (record.offset > (offsets[record.partition] ?? -1)) {
        this.#refused.push(this.#taken[record.offset]!);
        this.#decide(record);
      } else {
        const fromMs = Math.max(wanted.raw, this.#organizations.from(record.value.orgId));
        expect(batchFrom(this.#taken[record.offset]!, fromMs)).toEqual(batchFrom(record.value, fromMs));
      }
    }
    await this.open();
    await this.#store.write(records);
  }

  async end(): Promise<void> {
    this.#store.end();
    await this.#threads.end();
  }

  /** Compares with the model at the boundaries that hold while it asks. */
  async compare(history: SeriesHistory, random: Random): Promise<void> {
    const reached = this.#shown(history.orgId);
    const model = new SeriesModel();
    for (const batch of this.#taken) model.write(batch);
    const named = await this.#named(history);
    const isSame = async (): Promise<boolean> =>
      isDeepStrictEqual(reached, this.#shown(history.orgId)) && isDeepStrictEqual(named, await this.#named(history));
    try {
      await compareSeries(history, random, this.#store, new KeptModel(model, reached, named));
    } catch (cause) {
      if (await isSame()) throw cause;
      await this.compare(history, random);
    }
  }

  /** What it must keep. */
  get wanted(): Boundaries {
    return this.#keeper.wanted;
  }

  /** What is in use of its file. */
  get bytes(): number {
    using db = new DatabaseSync(this.file, { readOnly: true });
    const { pages } = db
      .prepare('SELECT page_count - freelist_count AS pages FROM pragma_page_count, pragma_freelist_count')
      .get() as unknown as { pages: number };
    return 4096 * pages;
  }

  get reached(): Boundaries {
    return this.#kept.reached;
  }

  /** Which of the metrics that the store names had points before a crash only. */
  async #named({ orgId, sourceIds }: SeriesHistory): Promise<Map<string, readonly string[]>> {
    const named = new Map<string, readonly string[]>();
    for (const sourceId of sourceIds) {
      const before = new Set(this.#refused.filter((batch) => batch.sourceId === sourceId).flatMap(metricsOf));
      named.set(
        sourceId,
        (await this.#store.metricNames(orgId, sourceId)).filter((name) => before.has(name)),
      );
    }
    return named;
  }

  #decide({ offset, value }: Placed<PointBatch>): void {
    const due = this.#keeper.due(value.receivedMs);
    if (due) this.#keeper.move(due);
    this.#organizations.note(value.receivedMs);
    this.#taken[offset] = this.#keeper.timely(value, this.#organizations.from(value.orgId));
  }

  /** From when on an organization has an answer. */
  #shown(orgId: string): Boundaries {
    const { raw, '1m': minutes, '1h': hours, '1d': all } = this.#kept.reached;
    const sinceMs = keptSince(this.#boundaries, orgId);
    return { raw: Math.max(raw, sinceMs), '1m': Math.max(minutes, sinceMs), '1h': Math.max(hours, sinceMs), '1d': Math.max(all, sinceMs) };
  }

  get #boundaries(): KeptSince {
    using db = new DatabaseSync(this.file, { readOnly: true });
    return readBoundaries(db, 'points');
  }

  readonly #less = (): readonly (readonly [string, number])[] => Object.entries(this.less).map(([orgId, its]) => [orgId, its * dayMs]);

  #organizationsFrom(boundaries: KeptSince): BoundaryKeeper {
    return new BoundaryKeeper({ ms: Infinity, less: this.#less }, boundaries);
  }

  get #kept(): Kept {
    return this.#rows<Kept>('kept')[0] ?? { wanted: fromTheBeginning, reached: fromTheBeginning, asOfMs: 0, newest: 0 };
  }

  #rows<T>(table: string): T[] {
    const db = new DatabaseSync(this.file, { readOnly: true });
    const rows = db.prepare(`SELECT info FROM ${table}`).all() as { info: string }[];
    db.close();
    return rows.map(({ info }) => JSON.parse(info) as T);
  }
}

/** The records as they come while days go by; two without points tell that they do. */
function received({ orgId, records }: SeriesHistory, random: Random, fromMs: number, stepDays: number): Placed<PointBatch>[] {
  let nowMs = fromMs;
  const batches = records.flatMap(({ value }) => {
    const leapMs = random.chance(0.5) ? random.whole(0, stepDays * dayMs) : 0;
    const times = leapMs > 0 ? [nowMs + leapMs, nowMs + leapMs + hourMs] : [];
    nowMs = times.at(-1) ?? nowMs;
    const silent = times.map((receivedMs): PointBatch => ({ orgId, sourceId: 'silent', receivedMs, series: [] }));
    return [...silent, { ...value, receivedMs: nowMs }];
  });
  return batches.map((value, offset) => ({ partition: random.whole(0, 3), offset, value }));
}

const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
const noonMs = 1_700_006_400_000;

it.each<[string, Keep, points: number, less?: Readonly<Record<string, number>>, activeBytes?: number]>([
  ['each level longer than the one before', days(5, 20, 60, 150), 50_000],
  ['days for ever', days(10, 10, 40, Infinity), 50_000],
  ['all the same', days(20, 20, 20, 20), 50_000],
  ['arenas that are soon full', days(3, 30, 90, Infinity), 97],
  ['nothing', days(Infinity, Infinity, Infinity, Infinity), 997],
  ['for ever, and of its organization for less', days(Infinity, Infinity, Infinity, Infinity), 97, { org: 20 }],
  ['archives, and of its organization less than they hold', days(5, 100, 100, Infinity), 97, { org: 30 }],
  ['archives, and of another organization less', days(5, 20, 60, 150), 997, { other: 1 }],
  ['memory for few names', days(5, 100, 100, Infinity), 97, { org: 30 }, 1],
])(`what is kept is answered as if all were kept, SEED=${seed}: %s`, async (_, keep, points, less = {}, activeBytes) => {
  for (let at = 0; at < Number(process.env['HISTORIES'] ?? 1); at++) {
    const random = new Random(seed + at);
    const folder = await mkdtemp(join(tmpdir(), 'headwater-keep-'));
    const history = aSeriesHistory(random, 'org', 0);
    const records = received(history, random, noonMs - random.whole(0, 130) * dayMs, 20);
    const life = new Life(join(folder, 'store.db'), keep, points, less, activeBytes);
    await life.open();
    for (let next = 0; next < records.length;) {
      const some = records.slice(next, next + random.whole(1, 4));
      await life.write(some);
      next += some.length;
      if (random.chance(0.2)) await life.store.checkpoint();
      if (random.chance(0.1)) await life.crash(records.slice(0, next));
      if (random.chance(0.2)) await life.store.settled();
      if (random.chance(0.3)) await life.compare(history, random);
    }
    await life.store.checkpoint();
    await life.store.settled();
    expect(life.reached).toEqual(life.wanted);
    await life.compare(history, random);
    await life.crash(records);
    await life.compare(history, random);
    await life.end();
    await rm(folder, { recursive: true });
  }
});

describe('the room of points that are gone is used again', () => {
  /** Bytes in use after each of some records, which bring the points of so many days. */
  async function bytesAfter(
    keep: Keep,
    arena: number,
    daysOf: readonly (readonly [receivedDay: number, days: readonly number[]])[],
  ): Promise<number[]> {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-keep-'));
    const life = new Life(join(folder, 'store.db'), keep, arena);
    await life.open();
    const random = new Random(1);
    const bytes: number[] = [];
    for (const [at, [receivedDay, its]] of daysOf.entries()) {
      const series = its.map((day) => {
        const timestampMs = Float64Array.from({ length: 8_640 }, (_, point) => noonMs + day * dayMs + point * 10_000);
        return { metric: 'm', tags: '', timestampMs, value: timestampMs.map(() => random.fraction()) };
      });
      const receivedMs = noonMs + receivedDay * dayMs;
      const silent = { orgId: 'org', sourceId: 's', receivedMs: receivedMs + hourMs, series: [] };
      await life.write([
        { partition: 0, offset: 2 * at, value: { ...silent, receivedMs, series } },
        { partition: 0, offset: 2 * at + 1, value: silent },
      ]);
      await life.store.checkpoint();
      await life.store.settled();
      bytes.push(life.bytes);
    }
    await life.end();
    await rm(folder, { recursive: true });
    return bytes;
  }
  it('of an organization that has less, in a run that it shares', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-keep-'));
    const life = new Life(join(folder, 'store.db'), days(Infinity, Infinity, Infinity, Infinity), 500_000, { short: 2 });
    await life.open();
    const random = new Random(1);
    const timestampMs = Float64Array.from({ length: 60_000 }, (_, point) => noonMs + point * 1000);
    const value = timestampMs.map(() => random.fraction());
    const record = (orgId: string, offset: number, receivedDay: number, isSilent = true): Placed<PointBatch> => {
      const series = isSilent ? [] : [{ metric: 'm', tags: '', timestampMs, value }];
      return { partition: 0, offset, value: { orgId, sourceId: 's', receivedMs: noonMs + receivedDay * dayMs, series } };
    };
    await life.write([record('short', 0, 0, false), record('long', 1, 0, false)]);
    await life.store.checkpoint();
    await life.store.settled();
    const before = life.bytes;
    await life.write([record('long', 2, 1 / 12), record('long', 3, 30), record('long', 4, 31)]);
    await life.store.settled();
    const pointsOf = async (orgId: string): Promise<number> => {
      const query = { orgId, sourceId: 's', metrics: undefined, window: { startMs: 0, endMs: 1e15 }, limit: 100_000 };
      return (await life.store.raw(query)).series[0]?.value.length ?? 0;
    };
    expect([await pointsOf('short'), await pointsOf('long')]).toEqual([0, 60_000]);
    expect(life.bytes).toBeLessThan(0.7 * before);
    await life.write([record('short', 5, 31, false)]);
    expect(life.store.late).toBe(60_000);
    await life.end();
    await rm(folder, { recursive: true });
  });

  const range = (length: number): number[] => Array.from({ length }, (_, at) => at);
  const keep = days(3, 3, 10, Infinity);

  it('while days go by', async () => {
    const bytes = await bytesAfter(
      keep,
      5_000,
      range(60).map((day) => [day + 1, [day]]),
    );
    expect(Math.max(...bytes.slice(20))).toBeLessThan(1.25 * Math.max(...bytes.slice(0, 20)));
  });

  it('in a run of which most is gone', async () => {
    const [before, after] = await bytesAfter(keep, 500_000, [
      [1, range(30)],
      [29, []],
    ]);
    expect(after).toBeLessThan(before! / 4);
  });

  it('of a source that was deleted, once its runs are merged', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'headwater-keep-'));
    const life = new Life(join(folder, 'store.db'), days(Infinity, Infinity, Infinity, Infinity), 20_000);
    await life.open();
    const random = new Random(1);
    const aRecord = (sourceId: string, offset: number, points: number): Placed<PointBatch> => {
      const timestampMs = Float64Array.from({ length: points }, (_, point) => noonMs + offset * dayMs + point);
      const series = [{ metric: 'm', tags: '', timestampMs, value: timestampMs.map(() => random.fraction()) }];
      return { partition: 0, offset, value: { orgId: 'org', sourceId, receivedMs: noonMs, series } };
    };
    for (let at = 0; at < 7; at++) await life.write([aRecord('deleted', at, 20_000)]);
    await life.store.checkpoint();
    const before = life.bytes;
    const { value } = aRecord('deleted', 7, 0);
    await life.write([{ partition: 0, offset: 7, value: { ...value, series: [], deleted: { metric: null } } }, aRecord('left', 8, 10)]);
    await life.store.checkpoint();
    await life.store.settled();
    expect(life.bytes).toBeLessThan(before / 4);
    await life.end();
    await rm(folder, { recursive: true });
  });
});
