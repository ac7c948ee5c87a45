import { bucketStartMs, type PointColumns } from '#model';
import type { Bucket, SeriesBucket } from './rollup-database.js';

const none = new Float64Array(0);
const columns = ['startMs', 'count', 'min', 'max', 'sum'] as const;

/** A live window is folded in memory; the row of a stale one is made from the stored points. */
const state = { live: 0, stale: 1 } as const;

/** The one window of each series, of one size, that still grows. Series are numbers from 0 on. */
export class OpenWindows {
  /** Windows that are over and whose row is not sent yet. */
  readonly closed: SeriesBucket[] = [];
  /** `-Infinity` where a series has no window yet. */
  startMs = none;
  count = none;
  min = none;
  max = none;
  sum = none;
  #state = new Uint8Array(0);
  /** 1 when the window has changed since its row was sent. */
  #changed = new Uint8Array(0);

  constructor(
    readonly sizeMs: number,
    /** Whether the store may hold a row of this window. */
    private readonly mayHaveRow: (series: number, startMs: number) => boolean,
    /** Hears of every stale window that points come for. */
    private readonly stale: (series: number, startMs: number) => void,
  ) {}

  /** Series up to this number have a place in the columns. */
  get length(): number {
    return this.#state.length;
  }

  /** Makes place for series up to this number. */
  reserve(length: number): void {
    if (length > this.length) this.#grow(length);
  }

  /**
   * Takes points that did not come before, from one place in their columns to before another, in ascending order. Points of one series may be
   * of several sets of tags, each with times of its own.
   */
  fold(series: number, { timestampMs, value }: PointColumns, from: number, to: number): void {
    let at = from;
    for (; at < to && timestampMs[at]! < this.startMs[series]!; at++) this.spoil(series, timestampMs[at]!);
    while (at < to) {
      if (timestampMs[at]! >= this.startMs[series]! + this.sizeMs) this.#begin(series, timestampMs[at]!);
      const begin = at;
      const endMs = this.startMs[series]! + this.sizeMs;
      while (at < to && timestampMs[at]! < endMs) at++;
      if (this.#state[series] === state.stale) this.stale(series, this.startMs[series]!);
      else this.#add(series, value, begin, at);
    }
  }

  /** Makes the window of this time stale, for example because a point of it may have come before. */
  spoil(series: number, timestampMs: number): void {
    const startMs = bucketStartMs(timestampMs, this.sizeMs);
    if (this.#state[series] === state.live && this.startMs[series] === startMs) this.#state[series] = state.stale;
    this.stale(series, startMs);
  }

  /** Whether the series may still begin this window: the windows of a series only go forward. */
  mayBegin(series: number, startMs: number): boolean {
    return startMs > this.startMs[series]!;
  }

  /** The series' window if it has changed since its row was sent; from then on it counts as sent. */
  takeChanged(series: number): Bucket | undefined {
    if (this.#changed[series] !== 1) return undefined;
    this.#changed[series] = 0;
    return this.#bucket(series);
  }

  /** The windows that have changed since their row was sent. */
  *changed(): Generator<SeriesBucket> {
    yield* this.closed;
    for (let series = 0; series < this.length; series++) {
      if (this.#changed[series] === 1) yield { series, bucket: this.#bucket(series) };
    }
  }

  #add(series: number, value: Float64Array, from: number, to: number): void {
    let [min, max, sum] = [this.min[series]!, this.max[series]!, this.sum[series]!];
    for (let at = from; at < to; at++) {
      const it = value[at]!;
      if (it < min) min = it;
      if (it > max) max = it;
      sum += it;
    }
    this.min[series] = min;
    this.max[series] = max;
    this.sum[series] = sum;
    this.count[series]! += to - from;
    this.#changed[series] = 1;
  }

  #begin(series: number, timestampMs: number): void {
    // Also a window that has become stale: after a crash, only a stored row tells that the window has had points.
    if (this.#changed[series] === 1) this.closed.push({ series, bucket: this.#bucket(series) });
    const startMs = bucketStartMs(timestampMs, this.sizeMs);
    this.startMs[series] = startMs;
    this.count[series] = 0;
    this.min[series] = Infinity;
    this.max[series] = -Infinity;
    this.sum[series] = 0;
    this.#changed[series] = 0;
    this.#state[series] = this.mayHaveRow(series, startMs) ? state.stale : state.live;
  }

  #bucket(series: number): Bucket {
    return {
      startMs: this.startMs[series]!,
      min: this.min[series]!,
      max: this.max[series]!,
      sum: this.sum[series]!,
      count: this.count[series]!,
    };
  }

  #grow(capacity: number): void {
    for (const column of columns) {
      const grown = new Float64Array(capacity).fill(-Infinity);
      grown.set(this[column]);
      this[column] = grown;
    }
    this.#state = new Uint8Array(this.#state.buffer.transfer(capacity));
    this.#changed = new Uint8Array(this.#changed.buffer.transfer(capacity));
  }
}
