import { bucketStartMs, type Window } from '#model';
import type { BucketColumns } from '#stores';

/** What a metric was in a span of time that has points. */
export interface Column {
  readonly min: number;
  readonly max: number;
  readonly avg: number;
  readonly count: number;
}

/** Columns side by side from a time on, each of one size; null where there are no points. */
export interface Columns {
  readonly startMs: number;
  readonly sizeMs: number;
  readonly all: readonly (Column | null)[];
}

/** The buckets of a window as columns, each of as many buckets as it takes for at most `most` of them. @param sizeMs of a bucket. */
export function columnsOf(buckets: BucketColumns, window: Window, sizeMs: number, most: number): Columns {
  const startMs = bucketStartMs(window.startMs, sizeMs);
  const count = Math.max(1, Math.ceil((window.endMs - startMs) / sizeMs));
  const all: (Column | null)[] = Array.from({ length: count }, () => null);
  for (const [row, timestampMs] of buckets.timestampMs.entries()) {
    const at = Math.floor((timestampMs - startMs) / sizeMs);
    if (at < 0 || at >= count) continue;
    all[at] = { min: buckets.min[row]!, max: buckets.max[row]!, avg: buckets.avg[row]!, count: buckets.count[row]! };
  }
  return fewer({ startMs, sizeMs, all }, most);
}

/** The same with at most `most` columns. */
export function fewer({ startMs, sizeMs, all }: Columns, most: number): Columns {
  const together = Math.ceil(all.length / most);
  if (together === 1) return { startMs, sizeMs, all };
  const merged = Array.from({ length: Math.ceil(all.length / together) }, (_, at) =>
    all.slice(at * together, (at + 1) * together).reduce(merge, null),
  );
  return { startMs, sizeMs: sizeMs * together, all: merged };
}

function merge(a: Column | null, b: Column | null): Column | null {
  if (!a || !b) return a ?? b;
  const count = a.count + b.count;
  const [min, max] = [Math.min(a.min, b.min), Math.max(a.max, b.max)];
  // Shares before the sum: the sum of two huge values is no number.
  const avg = a.avg * (a.count / count) + b.avg * (b.count / count);
  return { min, max, avg: Math.min(Math.max(avg, min), max), count };
}

/** Neighbours as far apart as the points of a series usually are do not leave a gap, nor do those twice as far apart. */
const patience = 2.5;

/**
 * The runs of columns that belong together: places of columns with points. Between two runs is a gap, which is longer than the points of
 * this series usually are apart: a source that sends once in five minutes leaves empty minutes, and no gap.
 */
export function runsOf(all: readonly (Column | null)[]): readonly (readonly number[])[] {
  const places = all.flatMap((column, at) => (column ? [at] : []));
  const distances = places.slice(1).map((at, nth) => (at - places[nth]!) / all[places[nth]!]!.count);
  const usual = distances.toSorted((a, b) => a - b)[Math.floor((distances.length - 1) / 2)] ?? 0;
  const runs: number[][] = [];
  for (const [nth, at] of places.entries()) {
    const isNear = nth > 0 && at - places[nth - 1]! <= Math.max(1, patience * usual);
    if (isNear) runs.at(-1)!.push(at);
    else runs.push([at]);
  }
  return runs;
}
