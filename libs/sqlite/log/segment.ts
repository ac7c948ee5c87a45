import { endOf, framesIn, type Batch, type Kind } from './batch.js';

/** Which records are looked for. */
export interface Wanted {
  /** Undefined for both. */
  readonly kind?: Kind;
  readonly from: number;
  /** The offset after the last one. The segment has all records before it. */
  readonly to: number;
  /** Undefined for all topics. */
  readonly topics?: ReadonlySet<string>;
  /** Those that were appended at this time or later, Unix milliseconds; undefined for all. */
  readonly sinceMs?: number;
  /** True when the caller has finished with a piece before it asks for the next one: then all pieces may be read into the same memory. */
  readonly isPassing?: boolean;
}

/** A part of the log, in a file of its own. */
export interface Segment {
  readonly path: string;
  /** Offset of its first record. */
  readonly first: number;
  /**
   * Batches that may have wanted records, in the order of their offsets, as many at a time as are read at once. Throws `log_corrupt` where they are
   * damaged.
   */
  pieces(wanted: Wanted): Iterable<readonly Batch[]>;
}

/** What is known of some batches without reading them. */
export class Summary {
  /** @param ms the least and the greatest time at which one of them was appended. */
  constructor(
    public first = Infinity,
    public end = -Infinity,
    readonly ms: [least: number, greatest: number] = [Infinity, -Infinity],
    readonly topics = new Set<string>(),
  ) {}

  add(batch: Batch): void {
    this.first = Math.min(this.first, batch.first);
    this.end = Math.max(this.end, endOf(batch));
    this.ms[0] = Math.min(this.ms[0], batch.ms);
    this.ms[1] = Math.max(this.ms[1], batch.ms);
    for (const { topic } of framesIn(batch)) this.topics.add(topic);
  }

  mayHave({ from, to, topics, sinceMs = -Infinity }: Wanted): boolean {
    const hasTopic = topics === undefined || this.topics.values().some((topic) => topics.has(topic));
    return this.end > from && this.first < to && this.ms[1] >= sinceMs && hasTopic;
  }
}
