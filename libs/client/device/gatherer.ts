import { checkTimestamp, type PointText, utf8Bytes, wireTime } from './point.js';
import type { Batch } from './buffer.js';

/** A batch has at most so much, so that little is lost with one that the disk damages. */
export const maxBatchPoints = 1000;
export const maxBatchBytes = 64 * 1024;

/** Gathers points until they are cut off as a batch. */
export class Gatherer {
  #texts: string[] = [];
  #bytes = 0;
  /** Events of this batch that were stamped here. */
  readonly #stamped = new Map<string, number>();
  /**
   * Events of earlier batches with the time at which they were cut off, or a later one. An equal event is stamped with the next free
   * millisecond: in another batch it would pass for the same event.
   */
  readonly #recent = new Map<string, number>();

  /** @param clock Unix milliseconds; may jump. */
  constructor(private readonly clock: () => number) {}

  get points(): number {
    return this.#texts.length;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#texts.length >= maxBatchPoints || this.#bytes >= maxBatchBytes;
  }

  /** The bytes that the point takes. */
  metric(text: PointText, timestampMs: number | undefined): number {
    return this.#add(whole(text, timestampMs === undefined ? this.#now() : checkTimestamp(timestampMs)));
  }

  /** The bytes that the point takes. */
  event(text: PointText, timestampMs: number | undefined): number {
    if (timestampMs !== undefined) return this.#add(whole(text, checkTimestamp(timestampMs)));
    let stamp = this.#now();
    let point = whole(text, stamp);
    while (this.#recent.has(point)) point = whole(text, ++stamp);
    this.#stamped.set(point, stamp);
    return this.#add(point);
  }

  /** The points since the last cut as one batch; undefined when there are none. */
  cut(): Batch | undefined {
    if (this.#texts.length === 0) return undefined;
    const batch: Batch = { text: this.#texts.join(','), points: this.#texts.length, bytes: this.#bytes - 1 };
    this.#remember();
    this.#texts = [];
    this.#bytes = 0;
    return batch;
  }

  #add(point: string): number {
    const bytes = utf8Bytes(point) + 1;
    this.#texts.push(point);
    this.#bytes += bytes;
    return bytes;
  }

  #remember(): void {
    const nowMs = this.#now();
    for (const [point, stamp] of this.#recent) if (stamp < nowMs) this.#recent.delete(point);
    for (const [point, stamp] of this.#stamped) if (stamp >= nowMs) this.#recent.set(point, stamp);
    this.#stamped.clear();
  }

  /** A clock that was never set may begin at 0, which would mean no time at all. */
  #now(): number {
    return Math.max(1, Math.round(this.clock()));
  }
}

const whole = ({ head, tail }: PointText, timestampMs: number): string => head + wireTime(timestampMs) + tail;
