import { TelemetryError } from './errors.js';
import { intervalMs, rollupIntervals, type Interval, type RollupInterval, type Window } from './window.js';

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
export function parseInterval(text: string): Interval {
  const interval = (['raw', ...rollupIntervals] as const).find((name) => name === text);
  if (interval) return interval;
  throw new TelemetryError('invalid_interval', `Use one of raw, ${rollupIntervals.join(', ')}.`);
}
