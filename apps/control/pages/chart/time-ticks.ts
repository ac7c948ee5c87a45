import type { Window } from '#model';
import { clockText, dayText } from '../times.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [1, 2, 5, 10, 15, 30]
  .map((count) => count * minute)
  .concat([1, 2, 3, 4, 6, 12].map((count) => count * hour))
  .concat([1, 2, 5, 10, 30, 90].map((count) => count * day));
const mostTicks = 7;

export interface TimeTick {
  readonly timestampMs: number;
  readonly label: string;
  /** The label is a day. */
  readonly isDay: boolean;
}

/** Round times of a window, in UTC: at most a handful. */
export function timeTicks({ startMs, endMs }: Window): readonly TimeTick[] {
  const stepMs = steps.find((step) => (endMs - startMs) / step <= mostTicks) ?? Math.ceil((endMs - startMs) / mostTicks / day) * day;
  const ticks: TimeTick[] = [];
  for (let at = Math.ceil(startMs / stepMs) * stepMs; at < endMs; at += stepMs) {
    const isDay = at % day === 0;
    ticks.push({ timestampMs: at, label: isDay ? dayText(at) : clockText(at), isDay });
  }
  return ticks;
}
