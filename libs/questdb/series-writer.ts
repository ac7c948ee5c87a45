import { batchFrom, bucketStartMs, intervalMs, type Lease, maxTimestampMs, type PointBatch, pointsOf, type SeriesRun } from '#model';
import { type Placed, Rollups } from '#stores';
import { type Client, NameRows } from './client.js';
import type { Deletions } from './deletions.js';
import { Delivery, type Figures, type LinePath, Signal, type WritePath } from './delivery.js';
import type { Kept } from './kept.js';
import { Lines } from './lines.js';
import { PointRows } from './point-rows.js';
import { RollupTables } from './rollup-tables.js';
import { SeriesNames, type Source, symbolsText } from './series-names.js';
import type { Sql } from './sql.js';
import { type Layout, partitionMs, type Partitioning, type Tables } from './tables.js';
import type { Taken } from './taken.js';

const minuteMs = intervalMs['1m'];
/** How far a clock may be ahead for its points to be live. */
const aheadMs = 600_000;

/** What writers of one store share. */
export interface WriterParts {
  readonly tables: Tables;
  readonly partitioning: Partitioning;
  readonly points: LinePath;
  readonly rollups: LinePath;
  /** To the tables that have something of points. */
  readonly all: WritePath;
  readonly deletions: Deletions;
  readonly client: Client;
  readonly sql: Sql;
  /** From when on points are taken. */
  readonly kept: Kept;
  /** How the tables are made, as soon as they may be written to. Rejects `store_unavailable`. */
  readonly layout: () => Promise<Layout>;
}

/** Writes what came under one lease. */
export class SeriesWriter {
  readonly #table: Buffer;
  readonly #kept: Kept;
  readonly #figures: Figures;
  readonly #names: SeriesNames;
  readonly #nameRows: NameRows;
  readonly #points: PointRows;
  readonly #rollupTables: RollupTables;
  readonly #rollups: Rollups;
  readonly #all: WritePath;
  readonly #deletions: Deletions;
  readonly #delivery: Delivery;
  #settling: Promise<void> = Promise.resolve();

  constructor(
    parts: WriterParts,
    { tagsAreKeys }: Layout,
    readonly lease: Lease,
    readonly taken: Taken,
    /** Called when what was taken can no longer be written, and not because somebody has ended this. */
    lost: (cause: unknown) => void,
  ) {
    const { tables, sql, partitioning, points, rollups, all, kept, deletions } = parts;
    this.#kept = kept;
    this.#figures = points.figures;
    this.#table = Buffer.from(tables.points);
    this.#names = new SeriesNames(tagsAreKeys);
    this.#nameRows = new NameRows(parts.client, tables.metrics);
    this.#points = new PointRows(points, this.#nameRows, lease, partitionMs(partitioning).points, lost);
    this.#rollupTables = new RollupTables(rollups, { sql, tables, names: this.#names, partitioning, kept }, lease);
    this.#rollups = new Rollups(this.#rollupTables);
    this.#all = all;
    this.#deletions = deletions;
    this.#delivery = new Delivery(all, lease, new Signal());
  }

  /** What waits and is under way, bytes. */
  get heldBytes(): number {
    return this.#points.bytes;
  }

  /** Series that are remembered, and sets of tags in them. */
  get seriesCount(): number {
    return this.#names.count;
  }

  /** What these take in memory, and what is known of their stored rollups, about. */
  get seriesBytes(): number {
    return this.#names.bytes + this.#rollups.knownBytes;
  }

  /** Resolves when QuestDB accepts the points of a batch that is not taken yet. Rejects `RefusedRow`. */
  async probe(record: Placed<PointBatch>): Promise<void> {
    const { value } = record;
    if (this.taken.has(record)) return;
    checkedTimes(value);
    const { orgId, sourceId, series } = batchFrom(value, (await this.#kept.fresh()).raw);
    const lines = new Lines(1 << 12);
    for (const run of series) {
      const symbols = Buffer.from(symbolsText({ org: orgId, source: sourceId, metric: run.metric, tags: run.tags }));
      lines.points(this.#table, symbols, run);
    }
    const names = series.map(({ metric }) => ({ org: orgId, source: sourceId, metric }));
    if (lines.rows > 0) await this.#points.probe(lines, names);
  }

  /** Takes a batch as a whole or not at all. Points from before what is kept are only counted. */
  async write(record: Placed<PointBatch>): Promise<void> {
    const { value } = record;
    if (this.taken.has(record)) return;
    const times = checkedTimes(value);
    await this.#points.room();
    if (this.#rollups.full) await this.checkpoint();
    const live = liveTimes(value.receivedMs);
    await this.#rollups.know(Math.max(live.firstMs, times.firstMs), Math.min(live.lastMs, times.lastMs));
    const timely = batchFrom(value, (await this.#kept.fresh()).raw);
    const source = this.#names.source(value.orgId, value.sourceId);
    for (const run of timely.series) this.#take(value, source, run, live);
    this.#figures.late.points += pointsOf(value) - pointsOf(timely);
    this.taken.add(record);
    this.#points.added();
  }

  /**
   * Takes records that delete. Resolves when readers see nothing of what came before them; it is in the store for good then. The rows of
   * rollups come first, so that no window of what goes is left to be made.
   */
  async delete(records: readonly Placed<PointBatch>[]): Promise<void> {
    const fresh = records.filter((record) => !this.taken.has(record));
    if (fresh.length === 0) return;
    for (const { value } of fresh) checkedTimes(value);
    await this.checkpoint();
    await this.#deletions.ofPoints(fresh, this.#delivery, () => this.#all.outage.check());
    for (const record of fresh) {
      const { orgId, sourceId, deleted } = record.value;
      this.#names.forget(orgId, sourceId, deleted!.metric);
      this.taken.add(record);
    }
  }

  /** Resolves when all that was taken before the call is in the store for good. Rejects `store_unavailable`. */
  checkpoint(): Promise<void> {
    const settled = this.#settling.catch(() => undefined).then(() => this.#rollups.settle(() => this.#points.drained()));
    this.#settling = settled;
    return settled;
  }

  /** Resolves when readers see the points taken before the call. */
  flush(): Promise<void> {
    return this.#points.drained();
  }

  /** Drops what is held. Resolves when nothing is under way any more. */
  async end(): Promise<void> {
    this.#rollupTables.end();
    this.#delivery.end();
    await this.#points.end();
    await this.#settling.catch(() => undefined);
  }

  #take({ orgId, sourceId }: PointBatch, source: Source, run: SeriesRun, live: Times): void {
    const { metric, tags, timestampMs } = run;
    const { length } = timestampMs;
    if (length === 0) return;
    let series = source.get(metric);
    if (!series) {
      series = this.#names.make(source, orgId, sourceId, metric);
      this.#nameRows.add(series);
    }
    const tagSet = this.#names.tagSet(series, tags);
    for (let from = 0, to = 1; from < length; from = to++) {
      const isLive = isWithin(live, timestampMs[from]!);
      while (to < length && isWithin(live, timestampMs[to]!) === isLive) to++;
      this.#points.add(series, tagSet, run, from, to, !isLive);
      this.#rollups.add(series.id, tagSet.progress, run, from, to, isLive);
    }
  }
}

const isWithin = ({ firstMs, lastMs }: Times, timeMs: number): boolean => timeMs >= firstMs && timeMs <= lastMs;

/** From the minute before the receive time on. */
function liveTimes(receivedMs: number): Times {
  return { firstMs: bucketStartMs(receivedMs, minuteMs) - minuteMs, lastMs: receivedMs + aheadMs };
}

/** The first and the last time of a batch. */
interface Times {
  readonly firstMs: number;
  readonly lastMs: number;
}

/**
 * The first and the last time of a batch. A batch with something that QuestDB would change without an error is refused as a whole.
 * @throws Error in words for the operator.
 */
function checkedTimes({ orgId, sourceId, series }: PointBatch): Times {
  if (orgId === '' || sourceId === '') throw new Error('a batch of points names no organization or no source');
  let first = Infinity;
  let last = -Infinity;
  for (const { metric, timestampMs, value } of series) {
    if (metric === '') throw new Error('a run of points names no metric');
    if (timestampMs.length !== value.length) throw new Error('a run of points has more times than values, or fewer');
    for (let at = 0; at < value.length; at++) {
      const time = timestampMs[at]!;
      if (!Number.isFinite(value[at])) throw new Error('a point has a value that is no finite number');
      if (!Number.isInteger(time) || time < 0 || time > maxTimestampMs) throw new Error('a point has a time outside of 1970 to 9999');
      if (time < first) first = time;
      if (time > last) last = time;
    }
  }
  return { firstMs: first, lastMs: last };
}
