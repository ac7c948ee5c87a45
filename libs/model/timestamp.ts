/** The last millisecond of the year 9999. */
export const maxTimestampMs = 253_402_300_799_999;

const secondsBelow = 1e12;
const microsecondsFrom = 1e14;
const nanosecondsFrom = 1e17;

/**
 * Unix milliseconds, an integer, of a time that a client sent in seconds, milliseconds, microseconds or nanoseconds: the magnitude tells
 * which. The answer may lie beyond `maxTimestampMs`.
 *
 * @param time finite and above 0.
 */
export function toUnixMs(time: number): number {
  if (time < secondsBelow) return Math.round(time * 1000);
  if (time < microsecondsFrom) return Math.round(time);
  return Math.round(time < nanosecondsFrom ? time / 1e3 : time / 1e6);
}

/** When a point happened: at `time`, read as `toUnixMs` does, or at `receivedMs` when that is not above 0 once rounded to a millisecond. */
export function pointTimeMs(time: number, receivedMs: number): number {
  const timestampMs = time > 0 ? toUnixMs(time) : 0;
  return timestampMs > 0 ? timestampMs : receivedMs;
}
