import { bucketStartMs, intervalMs, type Interval, type RollupInterval } from '#model';

/** Rows of one series by ascending time, as columns. */
export interface Rows {
  readonly timestampMs: ArrayLike<number>;
  readonly columns: Readonly<Record<string, ArrayLike<number>>>;
}

/** The points of one series in log order, and what brute force makes of them. */
export class SeriesFold {
  #timestampMs = new Float64Array(64);
  #value = new Float64Array(64);
  #length = 0;

  add(timestampMs: Float64Array, value: Float64Array): void {
    const length = this.#length + value.length;
    if (length > this.#value.length) {
      this.#timestampMs = grown(this.#timestampMs, length);
      this.#value = grown(this.#value, length);
    }
    this.#timestampMs.set(timestampMs, this.#length);
    this.#value.set(value, this.#length);
    this.#length = length;
  }

  /** One point for each time, the one that came last. */
  deduplicated(): SeriesFold {
    const [timestampMs, value] = [this.#timestampMs, this.#value];
    const order = Uint32Array.from({ length: this.#length }, (_, at) => at).sort((a, b) => timestampMs[a]! - timestampMs[b]! || a - b);
    const kept = order.filter((at, place) => timestampMs[order[place + 1]!] !== timestampMs[at]);
    const fold = new SeriesFold();
    fold.add(
      Float64Array.from(kept, (at) => timestampMs[at]!),
      Float64Array.from(kept, (at) => value[at]!),
    );
    return fold;
  }

  /** What the store should answer, once deduplicated. */
  rows(interval: Interval): Rows {
    const timestampMs = this.#timestampMs.subarray(0, this.#length);
    const value = this.#value.subarray(0, this.#length);
    return interval === 'raw' ? { timestampMs, columns: { value } } : buckets(timestampMs, value, interval);
  }
}

function grown(column: Float64Array<ArrayBuffer>, length: number): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(Math.max(length, 2 * column.length));
  larger.set(column);
  return larger;
}

function buckets(timestampMs: Float64Array, value: Float64Array, interval: RollupInterval): Rows {
  const starts: number[] = [];
  const columns = { count: [] as number[], min: [] as number[], max: [] as number[], avg: [] as number[] };
  for (let from = 0, to = 0; from < value.length; from = to) {
    const start = bucketStartMs(timestampMs[from]!, intervalMs[interval]);
    while (to < value.length && timestampMs[to]! < start + intervalMs[interval]) to++;
    const inside = value.subarray(from, to);
    starts.push(start);
    columns.count.push(inside.length);
    columns.min.push(inside.reduce((least, it) => Math.min(least, it)));
    columns.max.push(inside.reduce((most, it) => Math.max(most, it)));
    columns.avg.push(clampedSum(inside) / inside.length);
  }
  return { timestampMs: starts, columns };
}

/** Summed at a scale at which nothing leaves the range of doubles, where the plain sum does. */
function clampedSum(values: Float64Array): number {
  const plain = values.reduce((sum, it) => sum + it, 0);
  if (Number.isFinite(plain)) return plain;
  const scaled = values.reduce((sum, it) => sum + it * 2 ** -64, 0);
  return Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, scaled * 2 ** 64));
}
