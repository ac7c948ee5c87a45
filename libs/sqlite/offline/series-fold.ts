import { bucketStartMs, intervalMs, type Interval, type RollupInterval, type SeriesRun } from '#model';
import { inOrder, TagSets } from '../series/tag-sets.js';

/** Rows of one series by ascending time, points of one time by their tags; as columns. */
export interface Rows {
  readonly timestampMs: ArrayLike<number>;
  readonly columns: Readonly<Record<string, ArrayLike<number>>>;
}

/** The points of one series in log order, and what brute force makes of them. */
export class SeriesFold {
  readonly #timestampMs: Float64Array;
  readonly #value: Float64Array;
  /** Which of `#tagSets` each point has. */
  readonly #tag: Uint32Array;
  readonly #tagSets = new TagSets();
  #length = 0;

  /** @param points that will be added. */
  constructor(points: number) {
    this.#timestampMs = new Float64Array(points);
    this.#value = new Float64Array(points);
    this.#tag = new Uint32Array(points);
  }

  add({ timestampMs, value, tags }: Omit<SeriesRun, 'metric'>): void {
    this.#timestampMs.set(timestampMs, this.#length);
    this.#value.set(value, this.#length);
    this.#tag.fill(this.#tagSets.number(tags), this.#length, this.#length + value.length);
    this.#length += value.length;
  }

  /** One point for each time and tag set, the one that came last. */
  deduplicated(): SeriesFold {
    const [timestampMs, value] = [this.#timestampMs, this.#value];
    if (timestampMs.every((time, at) => at === 0 || time > timestampMs[at - 1]!)) return this;
    const { places } = inOrder(this.#tagSets.texts);
    const place = this.#tag.map((tag) => places[tag]!);
    const order = Uint32Array.from({ length: this.#length }, (_, at) => at);
    order.sort((a, b) => timestampMs[a]! - timestampMs[b]! || place[a]! - place[b]! || a - b);
    const same = (a: number, b: number | undefined): boolean =>
      b !== undefined && timestampMs[a] === timestampMs[b] && place[a] === place[b];
    const kept = order.filter((at, index) => !same(at, order[index + 1]));
    const fold = new SeriesFold(kept.length);
    fold.#timestampMs.set(Float64Array.from(kept, (at) => timestampMs[at]!));
    fold.#value.set(Float64Array.from(kept, (at) => value[at]!));
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

/** Where the plain sum leaves the range of doubles, the values are scaled down before they are summed. */
function average(values: Float64Array, min: number, max: number): number {
  const plain = values.reduce((sum, it) => sum + it, 0);
  if (Number.isFinite(plain)) return plain / values.length;
  const scaled = values.reduce((sum, it) => sum + it * 2 ** -64, 0);
  return Math.max(min, Math.min(max, (scaled / values.length) * 2 ** 64));
}
