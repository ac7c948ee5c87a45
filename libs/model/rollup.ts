import { bucketStartMs } from './window.js';

const none = new Float64Array(0);
const columns = ['startMs', 'count', 'firstMs', 'lastMs', 'min', 'max', 'sum'] as const;

/**
 * Rollup rows of one series as growing columns: a row is what is known of the points in one bucket. `firstMs` and `lastMs` are the event
 * times of its first and last point, so two rows of one bucket whose spans do not touch have no point in common and add up. A sum that
 * left the range of doubles on its way is not finite: the average then comes from the row's points (see `scale` and `averageOf`).
 */
export class RollupRows {
  length = 0;
  startMs = none;
  count = none;
  firstMs = none;
  lastMs = none;
  min = none;
  max = none;
  sum = none;

  #capacity = 0;
  #begun = 0;

  clear(): void {
    this.length = 0;
    this.#begun = 0;
  }

  /** Begins another series: what is added next starts a new row, whatever its bucket. */
  begin(): void {
    this.#begun = this.length;
  }

  /** Makes room for `more` rows after the last. */
  reserve(more: number): void {
    if (this.length + more <= this.#capacity) return;
    this.#capacity = Math.max(64, 2 * this.#capacity, this.length + more);
    for (const column of columns) {
      const grown = new Float64Array(this.#capacity);
      grown.set(this[column].subarray(0, this.length));
      this[column] = grown;
    }
  }

  /**
   * Folds points [from, to) in, which ascend in time and come after all folded before; a point goes into the last row when that is of its
   * bucket. Values are multiplied by `scale`, a power of two, before they are summed, so that sums of huge values stay finite.
   */
  fold(sizeMs: number, timestampMs: Float64Array, value: Float64Array, from: number, to: number, scale = 1): void {
    let at = from;
    while (at < to) {
      const startMs = bucketStartMs(timestampMs[at]!, sizeMs);
      const endMs = startMs + sizeMs;
      const row = this.#row(startMs, timestampMs[at]!);
      let min = this.min[row]!;
      let max = this.max[row]!;
      let sum = this.sum[row]!;
      const begin = at;
      for (; at < to && timestampMs[at]! < endMs; at++) {
        const it = value[at]!;
        if (it < min) min = it;
        if (it > max) max = it;
        sum += it * scale;
      }
      this.min[row] = min;
      this.max[row] = max;
      this.sum[row] = sum;
      this.count[row]! += at - begin;
      this.lastMs[row] = timestampMs[at - 1]!;
    }
  }

  /** Takes over row `at` of other rows as a new last row, or adds it to the last one when both are of the same bucket. */
  take(other: RollupRows, at: number, startMs = other.startMs[at]!): void {
    const row = this.#row(startMs, other.firstMs[at]!);
    this.count[row]! += other.count[at]!;
    this.firstMs[row] = Math.min(this.firstMs[row]!, other.firstMs[at]!);
    this.lastMs[row] = Math.max(this.lastMs[row]!, other.lastMs[at]!);
    this.min[row] = Math.min(this.min[row]!, other.min[at]!);
    this.max[row] = Math.max(this.max[row]!, other.max[at]!);
    this.sum[row]! += other.sum[at]!;
  }

  /** Puts all rows of another in the place of rows from `at` on. */
  replace(at: number, other: RollupRows): void {
    for (const column of columns) this[column].set(other[column].subarray(0, other.length), at);
  }

  /** Takes over all rows of another as new last rows. */
  append(other: RollupRows): void {
    this.reserve(other.length);
    for (let at = 0, to = this.length; at < other.length; at++, to++) {
      this.startMs[to] = other.startMs[at]!;
      this.count[to] = other.count[at]!;
      this.firstMs[to] = other.firstMs[at]!;
      this.lastMs[to] = other.lastMs[at]!;
      this.min[to] = other.min[at]!;
      this.max[to] = other.max[at]!;
      this.sum[to] = other.sum[at]!;
    }
    this.length += other.length;
  }

  /** Folds rows of finer buckets in, [from, to), which ascend and come after all folded before. */
  foldRows(sizeMs: number, finer: RollupRows, from = 0, to = finer.length): void {
    for (let at = from; at < to; at++) this.take(finer, at, bucketStartMs(finer.startMs[at]!, sizeMs));
  }

  #row(startMs: number, firstMs: number): number {
    if (this.length > this.#begun && this.startMs[this.length - 1] === startMs) return this.length - 1;
    this.reserve(1);
    const row = this.length++;
    this.startMs[row] = startMs;
    this.firstMs[row] = firstMs;
    this.lastMs[row] = -Infinity;
    this.count[row] = 0;
    this.min[row] = Infinity;
    this.max[row] = -Infinity;
    this.sum[row] = 0;
    return row;
  }
}

/** Values are multiplied by this before they are summed, so that any sum of doubles stays in range. A power of two loses no digit. */
export const downscale = 2 ** -64;

/** The average of values whose sum may lie beyond the largest double, from the sum of the values times `downscale`. */
export function averageOf(
  scaledSum: number,
  { min, max, count }: { readonly min: number; readonly max: number; readonly count: number },
): number {
  return Math.min(Math.max(scaledSum / count / downscale, min), max);
}

/** A sum beyond the largest double as the largest double. */
export const clampedSum = (sum: number): number => Math.min(Math.max(sum, -Number.MAX_VALUE), Number.MAX_VALUE);
