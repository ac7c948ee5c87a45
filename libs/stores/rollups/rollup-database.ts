import type { WindowSet } from './window-set.js';

/** What is known of the points of one series in one window; the numbers are finite where the bucket is stored. */
export interface Bucket {
  readonly startMs: number;
  readonly min: number;
  readonly max: number;
  readonly sum: number;
  readonly count: number;
}

/** A bucket and the number of its series. */
export interface SeriesBucket {
  readonly series: number;
  readonly bucket: Bucket;
}

/** Whether the sum of the values of a bucket may have left the range of doubles, even in the middle of summing. */
export const mayOverflow = ({ min, max, count }: Pick<Bucket, 'min' | 'max' | 'count'>): boolean =>
  Math.max(-min, max) * count > Number.MAX_VALUE;

/** The stored rows of one window size. A row that is written again replaces the one before. */
export interface RollupLevel {
  readonly sizeMs: number;
  /** Different windows whose rows `Rollups` remembers, for partitions of the log that are not equally far. */
  readonly maxOpen: number;
  /**
   * Calls `take` with each source that has a row for this window, in the words of `RollupDatabase.sourceOf`; with some perhaps more than once.
   * Rejects when not all of them can be told.
   */
  sourcesWithRow(startMs: number, take: (source: string) => void): Promise<void>;
  /** Folds what readers see of these windows, some at a time, and yields no bucket for a window without points. */
  fold(windows: WindowSet): AsyncIterable<readonly SeriesBucket[]>;
  /** Resolves when the database has accepted the rows, of windows that lie near each other. */
  send(rows: readonly SeriesBucket[]): Promise<void>;
  /**
   * Resolves when readers see the rows, which `fold` has made, of windows that may lie anywhere. Leaves out those that begin before what is kept
   * now: some of what they were folded from may have been gone.
   */
  sendAnywhere(rows: readonly SeriesBucket[]): Promise<void>;
  /** Resolves when readers see everything that windows of this size are folded from and that was accepted before the call. */
  sourceVisible(): Promise<void>;
  /** The error for windows that have points though `fold` yields nothing for them, however often it is asked. */
  unanswered(windows: WindowSet): Error;
}

/**
 * What `Rollups` needs of a database that keeps points and rollups, for what comes under one lease. Series are numbers from 0 on. Every call
 * rejects `store_unavailable` once the lease is lost.
 */
export interface RollupDatabase {
  /** Finest first. Windows of each are folded from the rows of the one before, those of the first from the points. */
  readonly levels: readonly RollupLevel[];
  /** Windows before this time are not made again, as far as it is known since the last `sendAnywhere`: their points may be gone. */
  readonly keptFromMs: number;
  /** Numbers below this one are series. */
  readonly seriesCount: number;
  /** Text that names the source of a series to every process. */
  sourceOf(series: number): string;
  /** Resolves when readers see all rows that were sent. */
  visible(): Promise<void>;
  /** Throws `store_unavailable` once the lease is lost. */
  check(): void;
}
