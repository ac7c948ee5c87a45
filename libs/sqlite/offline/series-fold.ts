import { bucketStartMs, intervalMs, type Interval, type RollupInterval } from '#model';

/** Rows of one series by ascending time, as columns. */
export interface Rows {
  readonly timestampMs: ArrayLike<number>;
  readonly columns: Readonly<Record<string, ArrayLike<number>>>;
}

/** The points of one series in log order, and what brute force makes of them. */
export class SeriesFold {
  readonly #timestampMs: Float64Array;
  readonly #value: Float64Array;
  #length = 0;

  /** @param points that will be added. */
  constructor(points: number) {
    this.#timestampMs = new Float64Array(points);
    this.#value = new Float64Array(points);
  }

  add(timestampMs: Float64Array, value: Float64Array): void {
    this.#timestampMs.set(timestampMs, this.#length);
    this.#value.set(value, this.#length);
    this.#length += value.length;
  }

  /** One point for each time, the one that came last. */
  deduplicated(): SeriesFold {
    const [timestampMs, value] = [this.#timestampMs, this.#value];
    if (timestampMs.every((time, at) => at === 0 || time > timestampMs[at - 1]!)) return this;
    const order = Uint32Array.from({ length: this.#length }, (_, at) => at).sort((a, b) => timestampMs[a]! - timestampMs[b]! || a - b);
    const kept = order.filter((at, place) => timestampMs[order[place + 1]!] !== timestampMs[at]);
    const fold = new SeriesFold(kept.length);
    fold.add(
      Float64Array.from(kept, (at) => timestampMs[at]!),
      Float64Array.from(kept, (at) => value[at]!),
    );
    return fold;
  }

  /** What the store should answer, once deduplicated. */
  rows(interval: Interval): Rows {
    const [timestampMs, value] = [this.#timestampMs, this.#value];
    return interval === 'raw' ? { timestampMs, columns: { value } } : buckets(timestampMs, value, interval);
  }
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
    const min = inside.reduce((least, it) => Math.min(least, it));
    const max = inside.reduce((most, it) => Math.max(most, it));
    columns.min.push(min);
    columns.max.push(max);
    columns.avg.push(average(inside, min, max));
  }
  return { timestampMs: starts, columns };
}

/** Summed at a scale at which nothing leaves the range of doubles, where the plain sum does. */
function average(values: Float64Array, min: number, max: number): number {
  const plain = values.reduce((sum, it) => sum + it, 0);
  if (Number.isFinite(plain)) return plain / values.length;
  const scaled = values.reduce((sum, it) => sum + it * 2 ** -64, 0);
  return Math.max(min, Math.min(max, (scaled / values.length) * 2 ** 64));
}
