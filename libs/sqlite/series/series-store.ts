import { setTimeout } from 'node:timers/promises';
import {
  type BoundSources,
  type Deletion,
  eachInSteps,
  oneAtATime,
  type PointBatch,
  type RollupInterval,
  type SelectedRows,
  sortedInSteps,
  stepItems,
  type Steps,
  type Tags,
  TelemetryError,
  type Window,
} from '#model';
import {
  type BucketAnswer,
  type BucketColumns,
  type FleetAnswer,
  type FleetQuery,
  inTurns,
  type Placed,
  type RawAnswer,
  type RawQuery,
  type SeriesQuery,
  type SeriesStore,
} from '#stores';
import { BoundaryKeeper, type KeptFor, type KeptSince } from '../boundaries.js';
import type { WorkerThread } from '../worker.js';
import type { ArenaSize, OpenedStore, SealedArena } from './arena.js';
import { ArenaStack } from './arena-stack.js';
import { Directory, type StoredNames } from './directory.js';
import { LaterSeries } from './ended.js';
import type { Fleet } from './fleets.js';
import { type Keep, keepAll, Keeper } from './keeper.js';
import type { KnownSource } from './known-source.js';
import type { ReadRequest } from './reads.js';

const readMs = 10_000;
const maxReads = 1000;
/** The store is asked for the sources of so many records at once. */
const askedAtOnce = 1024;

type SeriesPairs = Pick<ReadRequest, 'series' | 'metrics' | 'fleet'>;
type Asked = Pick<ReadRequest, 'window' | 'limit' | 'interval' | 'withTags'>;

/** What the reader thread answers for points: columns (time, value), and of tags their places in `tagSets` where they are asked for. */
type RawRows = SelectedRows & { readonly tagSets: readonly string[] };
/** What it answers for buckets: columns (start, min, max, avg, count), and which series have a bucket in the window. */
type BucketRows = SelectedRows & { readonly present: Uint8Array };

/** The series store in the file of two storage threads. */
export class SqliteSeriesStore implements SeriesStore {
  readonly #inTurn = oneAtATime();
  #reads = 0;
  #saved: KeptSince;

  private constructor(
    private readonly writer: WorkerThread,
    private readonly reader: WorkerThread,
    readonly directory: Directory,
    private readonly arenas: ArenaStack,
    private readonly keeper: Keeper,
    private readonly organizations: BoundaryKeeper,
    private readonly later: LaterSeries | undefined,
  ) {
    this.#saved = organizations.boundaries;
  }

  /**
   * Rejects `store_corrupt` when metrics or runs are damaged; `checked` says so of the other names.
   * @param size of an arena. @param less the organizations of which points and buckets are kept for less than any of `keep`.
   * @param activeBytes that sources in memory may take.
   */
  static async open(
    writer: WorkerThread,
    reader: WorkerThread,
    size?: ArenaSize,
    keep: Keep = keepAll,
    less?: KeptFor['less'],
    activeBytes?: number,
  ): Promise<SqliteSeriesStore> {
    const opened = await writer.call<OpenedStore>('series.open');
    const names = storedNames(writer, reader);
    const directory = new Directory(opened.names, names, activeBytes);
    const arenas = new ArenaStack(writer, directory, opened, size);
    const tidy = (): void => void arenas.tidied();
    names.checked.then(tidy, tidy);
    const organizations = new BoundaryKeeper({ ms: Infinity, ...(less && { less }) }, opened.since);
    const later = opened.ahead.length > 0 ? new LaterSeries(opened.ahead, directory.lastSeries) : undefined;
    return new SqliteSeriesStore(writer, reader, directory, arenas, new Keeper(keep, opened.wanted), organizations, later);
  }

  write(batches: readonly Placed<PointBatch>[]): Promise<void> {
    return this.#inTurn(async () => {
      for (const [at, { partition, offset, value }] of batches.entries()) {
        if (this.arenas.holds(partition, offset)) continue;
        const due = this.keeper.due(value.receivedMs);
        if (due) await this.#move(due);
        this.organizations.note(value.receivedMs);
        if (this.organizations.boundaries !== this.#saved) await this.#keepSince(this.organizations.boundaries);
        this.arenas.begin(offset);
        const { deleted } = value;
        if (deleted) await this.directory.with(value, (source) => this.#delete(source, deleted, offset));
        const timely = this.keeper.timely(value, this.organizations.from(value.orgId));
        const source = this.directory.find(value.orgId, value.sourceId);
        // Most batches need no name from the store and no new arena, and so nothing to wait for.
        const rest = source ? this.#take(source, timely, offset) : this.#takeWithNext(timely, offset, batches.slice(at, at + askedAtOnce));
        if (rest) await rest;
        this.arenas.took(partition, offset);
      }
    });
  }

  async checkpoint(): Promise<void> {
    const last = await this.#inTurn(() => this.arenas.sealLast());
    await this.arenas.flushed(last);
  }

  async metricNames(orgId: string, sourceId: string): Promise<readonly string[]> {
    return inTurns(sortedMetrics(await this.#source(orgId, sourceId)));
  }

  async latest(orgId: string, sourceId: string, window: Window): Promise<readonly (readonly [metric: string, value: number])[]> {
    const { metrics, pairs } = await inTurns(this.#seriesOf(await this.#source(orgId, sourceId)));
    const values = await this.#read<Float64Array>(orgId, 'series.latest', pairs, { window, limit: metrics.length, interval: undefined });
    return inTurns(eachInSteps(values, (value, at) => (Number.isNaN(value) ? undefined : ([metrics[at]!, value] as const))));
  }

  async raw({ orgId, sourceId, metrics: names, window, limit, withTags }: RawQuery): Promise<RawAnswer> {
    const { metrics, pairs } = await inTurns(this.#seriesOf(await this.#source(orgId, sourceId), names));
    const rows = await this.#read<RawRows>(orgId, 'series.raw', pairs, {
      window,
      limit,
      interval: undefined,
      ...(withTags && { withTags }),
    });
    const [timestampMs, value, tags] = rows.columns;
    const series = spans(rows, (at, from, to) => ({
      metric: metrics[at]!,
      timestampMs: timestampMs!.subarray(from, to),
      value: value!.subarray(from, to),
    }));
    const tagsOf = (_: number, from: number, to: number): Tags[] => Array.from(tags!.subarray(from, to), (place) => rows.tagSets[place]!);
    return { series: await inTurns(series), ...(withTags && { tags: await inTurns(spans(rows, tagsOf)) }), truncated: rows.truncated };
  }

  async buckets({ orgId, sourceId, metrics: names, ...asked }: SeriesQuery & { readonly interval: RollupInterval }): Promise<BucketAnswer> {
    const { metrics, pairs } = await inTurns(this.#seriesOf(await this.#source(orgId, sourceId), names));
    const rows = await this.#read<BucketRows>(orgId, 'series.buckets', pairs, asked);
    const series = spans(rows, (at, from, to) => ({ metric: metrics[at]!, ...bucketColumns(rows.columns, from, to) }));
    return { series: await inTurns(series), truncated: rows.truncated };
  }

  async fleet({ orgId, metric, sources: wanted, ...asked }: FleetQuery): Promise<FleetAnswer> {
    const all = await this.directory.fleet(orgId, metric);
    const { sourceIds, series } = wanted ? await inTurns(only(wanted, all)) : all;
    const metrics = new Uint32Array(series.length).fill(this.directory.metric(metric) ?? 0);
    const { columns, counts, present, truncated } = await this.#read<BucketRows>(
      orgId,
      'series.buckets',
      { series, metrics, fleet: true },
      asked,
    );
    const sources = eachInSteps(present, (isPresent, at) => (isPresent ? { sourceId: sourceIds[at]!, rows: counts[at]! } : undefined));
    return { sources: await inTurns(sources), columns: bucketColumns(columns, 0, columns[0]!.length), truncated };
  }

  /** Resolves when no checkpointed runs are left to merge. */
  settled(): Promise<void> {
    return this.arenas.tidied();
  }

  /** Writes the points that wait, and takes no more. */
  async close(): Promise<void> {
    try {
      await this.checkpoint();
    } finally {
      this.end();
    }
  }

  /** Takes no more points; those that were not checkpointed are only in the log. */
  end(): void {
    this.arenas.stop();
  }

  /** Resolves once all names were looked at; rejects `store_corrupt` when some are damaged or lost. */
  get checked(): Promise<void> {
    return this.directory.ready;
  }

  /** Points that came when their time was no longer kept, since the start. */
  get late(): number {
    return this.keeper.late;
  }

  /** The arena that is sealed here is the last one with points from before what is to be kept. */
  async #move(due: NonNullable<SealedArena['wanted']>): Promise<void> {
    await this.arenas.seal(due);
    this.keeper.move(due);
  }

  async #keepSince(boundaries: KeptSince): Promise<void> {
    await this.writer.call('series.keepSince', boundaries);
    this.#saved = boundaries;
    void this.arenas.tidied();
  }

  /** Takes what there is room for now, and promises the rest. */
  #take(source: KnownSource, batch: PointBatch, offset: number, first = 0, begin = 0): Promise<void> | undefined {
    const { series: parts } = batch;
    for (let at = first, from = begin; at < parts.length; at++, from = 0) {
      const part = parts[at]!;
      const { length } = part.timestampMs;
      if (length === 0) continue;
      const known = source.series(part.metric);
      if (known === undefined && !this.directory.isReady) return this.#takeOnce(this.directory.ready, batch, offset, at, from);
      const series = known ?? this.directory.makeSeries(source, part.metric);
      // What this record brings was deleted before the series began.
      if (this.later?.has(series, offset)) continue;
      while (from < length) {
        if (this.arenas.isFull) return this.#takeOnce(this.arenas.seal(), batch, offset, at, from);
        from = this.arenas.active.take(series, part, from);
      }
    }
    return undefined;
  }

  /** Brings the sources of the next records into memory too: one question to the store then does for all of them. */
  async #takeWithNext(batch: PointBatch, offset: number, next: readonly Placed<PointBatch>[]): Promise<void> {
    if (batch.series.length === 0) return;
    await this.directory.load(next.map(({ value }) => value));
    await this.#takeLater(batch, offset);
  }

  async #takeOnce(ready: Promise<void>, batch: PointBatch, offset: number, first: number, begin: number): Promise<void> {
    await ready;
    await this.#takeLater(batch, offset, first, begin);
  }

  async #takeLater(batch: PointBatch, offset: number, first = 0, begin = 0): Promise<void> {
    await this.directory.with(batch, (source) => this.#take(source, batch, offset, first, begin));
  }

  /** Nobody finds the points of what is forgotten from here on; what comes later has other numbers. */
  #delete(source: KnownSource, { metric }: Deletion, offset: number): void {
    const isHere = (name: string): boolean => {
      const series = source.series(name);
      return series !== undefined && !this.later?.has(series, offset);
    };
    const metrics = (metric === null ? source.metrics : [metric]).filter(isHere);
    const { lastSeries } = this.directory;
    if (metrics.length > 0) this.arenas.end({ offset, lastSeries, series: this.directory.forget(source, metrics) });
  }

  #source(orgId: string, sourceId: string): Promise<KnownSource> {
    return this.directory.with({ orgId, sourceId }, (source) => source);
  }

  /** The metrics of a source in UTF-8 byte order, and the series of each. With `names` only the named metrics that the source has. */
  *#seriesOf(source: KnownSource, names?: readonly string[]): Steps<{ metrics: readonly string[]; pairs: SeriesPairs }> {
    const metrics = yield* sortedMetrics(source, names);
    const series = new Uint32Array(metrics.length);
    const numbers = new Uint32Array(metrics.length);
    for (const [at, metric] of metrics.entries()) {
      // No series has the number 0, which stands for one that was deleted meanwhile.
      series[at] = source.series(metric) ?? 0;
      numbers[at] = this.directory.metric(metric)!;
      if ((at + 1) % stepItems === 0) yield;
    }
    return { metrics, pairs: { series, metrics: numbers, fleet: false } };
  }

  async #read<T>(orgId: string, name: string, pairs: SeriesPairs, { window, limit, interval, withTags }: Asked): Promise<T> {
    if (this.#reads >= maxReads) throw new TelemetryError('store_unavailable', 'Too many reads wait for the store.', { retryAfterS: 1 });
    const { arenas, giveBack } = this.arenas.lend(pairs.series);
    this.#reads++;
    try {
      const request: ReadRequest = {
        ...pairs,
        window: windowSince(window, this.organizations.from(orgId)),
        limit,
        interval,
        ...(withTags && { withTags }),
        arenas,
        deadlineMs: Date.now() + readMs,
      };
      return await this.reader.call<T>(name, request);
    } finally {
      this.#reads--;
      giveBack();
    }
  }
}

/** The pause after each 20 ms of looking at names: the rest of the start needs the processors too. */
const restMs = 20;

/** The writer looks at all names once, while the reader finds some. */
function storedNames(writer: WorkerThread, reader: WorkerThread): StoredNames {
  const check = async (): Promise<void> => {
    while (await writer.call<boolean>('series.checkNames')) await setTimeout(restMs);
  };
  const checked = check();
  checked.catch(() => undefined);
  return { sources: (asked) => reader.call('series.sources', asked), fleet: (asked) => reader.call('series.fleet', asked), checked };
}

/** What is left of a window from a time on, which is an edge of a day: a window without length there holds no bucket either. */
const windowSince = (window: Window, fromMs: number): Window =>
  fromMs <= window.startMs ? window : { startMs: fromMs, endMs: Math.max(fromMs, window.endMs) };

/** The sources that are wanted. */
function* only(wanted: BoundSources, { sourceIds, series }: Fleet): Steps<Fleet> {
  const places = yield* eachInSteps(sourceIds, (sourceId, at) => (wanted.has(sourceId) ? at : undefined));
  const their = yield* eachInSteps(places, (at) => series[at]);
  return { sourceIds: yield* eachInSteps(places, (at) => sourceIds[at]), series: new Uint32Array(their) };
}

function* sortedMetrics(source: KnownSource, names?: readonly string[]): Steps<readonly string[]> {
  const metrics = names ? [...new Set(names)].filter((name) => source.series(name) !== undefined) : source.metrics;
  return yield* sortedInSteps(metrics);
}

/** Calls `make` for each series that has rows, with its position in the request and with where its rows begin and end in the columns. */
function spans<T>({ counts }: SelectedRows, make: (at: number, from: number, to: number) => T): Steps<T[]> {
  let from = 0;
  return eachInSteps(counts, (count, at) => {
    from += count;
    return count > 0 ? make(at, from - count, from) : undefined;
  });
}

/** Rows [from, to) of columns of buckets. */
function bucketColumns(columns: readonly Float64Array[], from: number, to: number): BucketColumns {
  const [timestampMs, min, max, avg, count] = columns.map((column) => column.subarray(from, to));
  return { timestampMs: timestampMs!, min: min!, max: max!, avg: avg!, count: count! };
}
