import { resolved, triggered, type Alert } from './alert.js';
import type { Monitor, Threshold } from './monitor.js';
import type { SeriesRun } from './point.js';

/** A point whose time is so far ahead of the time at which it was received is stored, but no monitor looks at it. */
export const maxAheadMs = 600_000;

/** What the threshold of a monitor knows of one source. */
export interface ThresholdState {
  /** Time of the newest point that was evaluated, 0 before the first one. Points that are not newer are late. */
  readonly evaluatedMs: number;
  /** Time of the first of the newest points that are all outside; null when the newest one is not. */
  readonly outsideSinceMs: number | null;
  /** The open alert. */
  readonly alert: Alert | null;
}

export const nothingEvaluated: ThresholdState = { evaluatedMs: 0, outsideSinceMs: null, alert: null };

/** What a metric was at one time. */
export interface Reading {
  readonly timestampMs: number;
  readonly value: number;
}

/** `between` is no longer outside, but not back inside as far as `clear` asks. */
export type Zone = 'inside' | 'between' | 'outside';

export function zoneOf({ min, max, clearMin, clearMax }: Threshold, value: number): Zone {
  if ((max !== null && value > max) || (min !== null && value < min)) return 'outside';
  const isInside = value <= (clearMax ?? max ?? Infinity) && value >= (clearMin ?? min ?? -Infinity);
  return isInside ? 'inside' : 'between';
}

/**
 * What a reading makes of a threshold: the alert as it was triggered or resolved, or null.
 *
 * @param reading newer than all that were evaluated.
 */
export function decide(monitor: Monitor, sourceId: string, state: ThresholdState, reading: Reading): Alert | null {
  const threshold = monitor.threshold!;
  const zone = zoneOf(threshold, reading.value);
  if (state.alert) return zone === 'inside' ? resolved(state.alert, 'inside', reading.timestampMs, reading.value) : null;
  const outsideMs = reading.timestampMs - (state.outsideSinceMs ?? reading.timestampMs);
  return zone === 'outside' && outsideMs >= threshold.forMs ? triggered(monitor, sourceId, { threshold, offline: null }, reading) : null;
}

/** @param decided what `decide` has made of the reading. */
export function evolve<S extends ThresholdState>(state: S, threshold: Threshold, reading: Reading, decided: Alert | null): S {
  const isOutside = zoneOf(threshold, reading.value) === 'outside';
  return {
    ...state,
    evaluatedMs: reading.timestampMs,
    outsideSinceMs: isOutside ? (state.outsideSinceMs ?? reading.timestampMs) : null,
    alert: decided ? (decided.resolvedMs === null ? decided : null) : state.alert,
  };
}

/**
 * What one record says of a metric, in order of time: one reading for each time, neither late nor ahead. Of points of one time, which differ in
 * their tags, the worst counts: the source is inside when all of them are.
 *
 * @param runs of the metric.
 */
export function readingsOf(
  threshold: Threshold,
  runs: readonly SeriesRun[],
  { evaluatedMs }: ThresholdState,
  receivedMs: number,
): readonly Reading[] {
  const points: Reading[] = [];
  for (const { timestampMs: times, value: values } of runs) {
    for (let at = 0; at < times.length; at++) {
      const [timestampMs, value] = [times[at]!, values[at]!];
      if (timestampMs > evaluatedMs && timestampMs <= receivedMs + maxAheadMs) points.push({ timestampMs, value });
    }
  }
  return worstOfEachTime(
    threshold,
    points.sort((a, b) => a.timestampMs - b.timestampMs),
  );
}

/**
 * The time of the newest reading of a record, where nothing else follows from it: nothing was outside before, and nothing is. Undefined where
 * the readings have to be decided one by one. Most records are calm, and this makes no object for a point.
 *
 * @param runs of the metric.
 */
export function calmUntil(
  { min, max }: Threshold,
  runs: readonly SeriesRun[],
  { evaluatedMs, outsideSinceMs, alert }: ThresholdState,
  receivedMs: number,
): number | undefined {
  if (alert || outsideSinceMs !== null) return undefined;
  const [low, high] = [min ?? -Infinity, max ?? Infinity];
  let newestMs = evaluatedMs;
  for (const { timestampMs: times, value: values } of runs) {
    for (let at = 0; at < times.length; at++) {
      const timestampMs = times[at]!;
      if (timestampMs <= evaluatedMs || timestampMs > receivedMs + maxAheadMs) continue;
      if (values[at]! > high || values[at]! < low) return undefined;
      if (timestampMs > newestMs) newestMs = timestampMs;
    }
  }
  return newestMs;
}

const badness: Readonly<Record<Zone, number>> = { inside: 0, between: 1, outside: 2 };

/** @param points in order of time. */
function worstOfEachTime(threshold: Threshold, points: readonly Reading[]): readonly Reading[] {
  const badnessOf = ({ value }: Reading): number => badness[zoneOf(threshold, value)];
  const readings: Reading[] = [];
  for (const point of points) {
    const last = readings.at(-1);
    if (last?.timestampMs !== point.timestampMs) readings.push(point);
    else if (badnessOf(point) > badnessOf(last)) readings[readings.length - 1] = point;
  }
  return readings;
}
