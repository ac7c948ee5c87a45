import type { Interval } from '#model';

/** One thing that the store answers and the log does not say, or the other way round. */
export interface Difference {
  readonly what: Interval | 'metric names' | 'events' | 'source' | 'damage';
  readonly orgId?: string;
  readonly sourceId?: string;
  readonly metric?: string;
  /** Event time, or the start of a bucket. */
  readonly timestampMs?: number;
  /** By the log, in words. */
  readonly expected: string;
  /** In the store, in words. */
  readonly found: string;
}

/** Counts differences and keeps the first ones. */
export class Findings {
  readonly first: Difference[] = [];
  count = 0;

  constructor(private readonly most: number) {}

  add(difference: Difference): void {
    if (this.count++ < this.most) this.first.push(difference);
  }
}
