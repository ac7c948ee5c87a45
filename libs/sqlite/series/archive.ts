import { intervalMs, type RollupInterval, type RollupRows } from '#model';
import { isBefore, type RunPlace } from './block.js';
import { type BlockSearch, type Extent, rowsKey } from './run.js';
import { StoredRows } from './stored-rows.js';

/** The intervals whose rows are archived; reads fold 10m from 1m. A day is a level of its own, so that it outlives the hours. */
export const archiveLevels = ['1m', '1h', '1d'] as const;
export type ArchiveLevel = (typeof archiveLevels)[number];
export const archiveLevelOf: Readonly<Record<RollupInterval, ArchiveLevel>> = { '1m': '1m', '10m': '1m', '1h': '1h', '1d': '1d' };

/** Rows of a stretch of series, sorted by metric and series like those of a run. The blocks are of the kind that the segment's position says. */
export interface ArchiveSegment {
  readonly from: RunPlace;
  readonly to: RunPlace;
  readonly rows: Extent;
}

/** All rollup rows of one level whose buckets start in [fromMs, toMs), of which there are no points any more. It is written once and never changed. */
export interface Archive {
  /** Below 0. */
  readonly id: number;
  readonly level: ArchiveLevel;
  /** How many merges its rows went through. */
  readonly merges: number;
  readonly fromMs: number;
  readonly toMs: number;
  readonly segments: readonly ArchiveSegment[];
}

/** Reads one archive. */
export class ArchiveReader {
  readonly #rows: StoredRows;

  constructor(
    search: BlockSearch,
    readonly archive: Archive,
  ) {
    this.#rows = new StoredRows(search, archive.id, 1);
  }

  /**
   * Appends the rows of a series whose buckets start in [fromMs, toMs), folded to an interval.
   * @param scale what sums are multiplied by; see `downscale`.
   */
  rows(metric: number, series: number, interval: RollupInterval, fromMs: number, toMs: number, into: RollupRows, scale: number): void {
    for (const [at, extent] of this.#segments(series, fromMs, toMs)) {
      this.#rows.read(at, extent, rowsKey(metric, series), intervalMs[interval], fromMs, toMs, into, scale);
    }
  }

  /** The start of the first row of a series in [fromMs, toMs); `toMs` when there is none. */
  next(metric: number, series: number, fromMs: number, toMs: number): number {
    for (const [at, extent] of this.#segments(series, fromMs, toMs)) {
      const nextMs = this.#rows.next(at, extent, rowsKey(metric, series), fromMs, toMs);
      if (nextMs < toMs) return nextMs;
    }
    return toMs;
  }

  *#segments(series: number, fromMs: number, toMs: number): Generator<readonly [at: number, rows: Extent]> {
    const { segments } = this.archive;
    for (let at = firstReaching(segments, series, fromMs); at < segments.length; at++) {
      if (!isBefore(segments[at]!.from, series, toMs)) return;
      yield [at, segments[at]!.rows];
    }
  }
}

/** The first stretch that ends at or after a series' bucket. */
export function firstReaching(stretches: readonly { readonly to: RunPlace }[], series: number, fromMs: number): number {
  let low = 0;
  let high = stretches.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (isBefore(stretches[middle]!.to, series, fromMs)) low = middle + 1;
    else high = middle;
  }
  return low;
}
