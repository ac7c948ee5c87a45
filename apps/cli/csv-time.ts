import { isoTimeMs, maxTimestampMs, toUnixMs } from '#model';

const number = /^\d+(?:\.\d+)?$/;

/**
 * Unix milliseconds of a cell: ISO 8601 with or without a zone (then UTC), with `T` or a space; or a Unix time in s, ms, µs or ns.
 * Undefined when it is neither, or not after 1970 and before the year 10000.
 */
export function cellTimeMs(cell: string): number | undefined {
  const text = cell.trim();
  const ms = number.test(text) ? unixMs(Number(text)) : isoTimeMs(withoutSpaces(text));
  return ms !== undefined && ms > 0 && ms <= maxTimestampMs ? ms : undefined;
}

const unixMs = (time: number): number | undefined => (time > 0 ? toUnixMs(time) : undefined);

/** `2026-01-31 06:00:00 +02:00` and `2026-01-31 06:00:00 UTC` as ISO 8601 writes them. */
function withoutSpaces(text: string): string {
  if (text[10] !== ' ') return text;
  const [date, time = '', ...zone] = text.split(' ');
  return `${date}T${time}${zone.join(' ').replace(/^UTC$/, 'Z')}`;
}

const millisecondsFrom = 1e12;
const millisecondsTo = 1e14;

/**
 * A time as a point carries it: small numbers are read as seconds and large ones as nanoseconds, so that is how a time before September 2001
 * and one after November 5138 must be sent.
 */
export function wireTime(timestampMs: number): number {
  if (timestampMs < millisecondsFrom) return timestampMs / 1000;
  return timestampMs < millisecondsTo ? timestampMs : timestampMs * 1e6;
}
