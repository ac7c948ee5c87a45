import type { BoundSources, Lease, PointBatch, RollupInterval, Tags, Window } from '#model';

/** A batch with its place in the log; stores drop what they hold already. */
export interface Placed<V> {
  readonly partition: number;
  readonly offset: number;
  readonly value: V;
}

/** Points of one series, ascending in time; those of one time by the UTF-8 bytes of their tags as `tagsKey` writes them, without tags first. */
export interface RawColumns {
  readonly metric: string;
  readonly timestampMs: Float64Array;
  readonly value: Float64Array;
}

/** Buckets of one series or source, ascending in time; a bucket without points is absent. `avg` = sum / count, also where the sum is beyond the largest double. */
export interface BucketColumns {
  readonly timestampMs: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly avg: Float64Array;
  readonly count: Float64Array;
}

export interface SeriesQuery {
  readonly orgId: string;
  readonly sourceId: string;
  /** Undefined means all; duplicates and unknown names change nothing. */
  readonly metrics: readonly string[] | undefined;
  readonly window: Window;
  /** Rows over all series together, ordered by (time, metric by UTF-8 bytes, tags): the first `limit` are kept. */
  readonly limit: number;
}

export interface RawQuery extends SeriesQuery {
  readonly withTags?: boolean;
}

export interface RawAnswer {
  /** Series that kept a row, ordered by metric in UTF-8 bytes. */
  readonly series: readonly RawColumns[];
  /** Of each row of each series, where the query is with tags. */
  readonly tags?: readonly (readonly Tags[])[];
  /** True exactly when rows were left out. */
  readonly truncated: boolean;
}

export interface BucketAnswer {
  readonly series: readonly (BucketColumns & { readonly metric: string })[];
  readonly truncated: boolean;
}

export interface FleetQuery {
  readonly orgId: string;
  readonly metric: string;
  /** Only these; undefined means all. */
  readonly sources?: BoundSources | undefined;
  readonly window: Window;
  readonly interval: RollupInterval;
  /** Rows over all sources together, ordered by (time, source by UTF-8 bytes): the first `limit` are kept. */
  readonly limit: number;
}

export interface FleetAnswer {
  /** Every source with a bucket in the window, ordered by source id in UTF-8 bytes, and how many of its rows were kept. */
  readonly sources: readonly { readonly sourceId: string; readonly rows: number }[];
  /** The rows of all sources, each source's after those of the one before it: columns of its own would cost more than its rows. */
  readonly columns: BucketColumns;
  readonly truncated: boolean;
}

/**
 * Raw points and their rollups. A point is identified by (org, source, metric, time, tags): points that differ in tags only are different
 * points. Of several values for one point that of the later record in the log wins, and within a record that of the later position. A
 * series is all points of a metric of a source, whatever their tags, so a bucket has one row. Every rollup equals the fold over the raw series so deduplicated: count, min and max exactly, avg within
 * 1e-9 × max(|min|, |max|), after any mix of duplicate, late, reordered and repeated batches and any crash.
 */
export interface SeriesStore {
  /**
   * Takes batches in log order, once per place; resolves when more may come, and then reads see them within the store's freshness: at
   * once, or after a flush. What came before a deletion of its source or metric is gone then. What it holds of a lost lease it drops: that comes again. Rejects `store_unavailable`.
   */
  write(batches: readonly Placed<PointBatch>[], lease: Lease): Promise<void>;
  /** Resolves when all that was written before the call, under a lease that is still held, survives a crash and is visible. */
  checkpoint(): Promise<void>;

  /** Names of all metrics the source ever reported, in UTF-8 byte order. */
  metricNames(orgId: string, sourceId: string): Promise<readonly string[]>;
  /** The value of the newest point of each metric in the window, of several of one time the last by tags; by metric in UTF-8 byte order. */
  latest(orgId: string, sourceId: string, window: Window): Promise<readonly (readonly [metric: string, value: number])[]>;
  raw(query: RawQuery): Promise<RawAnswer>;
  /** Buckets whose start lies in the window, once the window's start is moved down to a bucket's edge. */
  buckets(query: SeriesQuery & { readonly interval: RollupInterval }): Promise<BucketAnswer>;
  fleet(query: FleetQuery): Promise<FleetAnswer>;
}
