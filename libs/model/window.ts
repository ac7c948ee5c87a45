import { TelemetryError } from './errors.js';

/** A span of time [startMs, endMs), Unix milliseconds. */
export interface Window {
  readonly startMs: number;
  readonly endMs: number;
}

/** Sizes of the stored and served rollups, milliseconds. */
export const intervalMs = { '1m': 60_000, '10m': 600_000, '1h': 3_600_000, '1d': 86_400_000 } as const;
export type RollupInterval = keyof typeof intervalMs;
export const rollupIntervals = Object.keys(intervalMs) as readonly RollupInterval[];

/** What a query may ask for. */
export type Interval = 'raw' | RollupInterval;

/** Start of the bucket of `sizeMs` that holds `timestampMs`. Buckets align to the Unix epoch, so every process draws the same edges. */
export function bucketStartMs(timestampMs: number, sizeMs: number): number {
  return Math.floor(timestampMs / sizeMs) * sizeMs;
}

/** The buckets whose start lies in the window, once the window's own start is moved down to a bucket's edge. */
export function bucketWindow(window: Window, interval: RollupInterval): Window {
  return { startMs: bucketStartMs(window.startMs, intervalMs[interval]), endMs: window.endMs };
}

const rawBelowMs = 600_000;
const wantedBuckets = 1000;

/** `raw` for a window under 10 minutes, else the interval whose number of buckets is nearest to 1,000 in ratio. */
export function automaticInterval(window: Window, finest?: 'raw'): Interval;
/** The interval whose number of buckets is nearest to 1,000 in ratio. */
export function automaticInterval(window: Window, finest: '1m'): RollupInterval;
export function automaticInterval(window: Window, finest: 'raw' | '1m' = 'raw'): Interval {
  const sizeMs = window.endMs - window.startMs;
  if (finest === 'raw' && sizeMs < rawBelowMs) return 'raw';
  const distance = (interval: RollupInterval): number => Math.abs(Math.log(sizeMs / intervalMs[interval] / wantedBuckets));
  return rollupIntervals.reduce((best, interval) => (distance(interval) < distance(best) ? interval : best));
}

/** @throws TelemetryError `invalid_interval`. */
export const parseInterval = (text: string): Interval => oneOf(['raw', ...rollupIntervals], text);

/** The interval of buckets. @throws TelemetryError `invalid_interval`. */
export const parseRollupInterval = (text: string): RollupInterval => oneOf(rollupIntervals, text);

function oneOf<T extends Interval>(intervals: readonly T[], text: string): T {
  const interval = intervals.find((name) => name === text);
  if (interval) return interval;
  throw new TelemetryError('invalid_interval', `Use one of ${intervals.join(', ')}.`);
}
