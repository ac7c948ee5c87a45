import { TelemetryError } from './errors.js';
import { isoTimeMs } from './iso-time.js';
import type { Window } from './window.js';

/** The parameters of every windowed endpoint, as they stand in the query string. */
interface WindowParameters {
  readonly last?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
/** The calendar begins with the year 1. */
const earliestMs = Date.parse('0001-01-01T00:00:00Z');

/**
 * The window that a query asks for: `last` beats `start` and `end`, and nothing means the last hour. A relative window ends with the
 * millisecond `nowMs`, which belongs to it, so that what was just accepted is in it.
 *
 * @throws TelemetryError `invalid_window`.
 */
export function parseWindow({ last, start, end }: WindowParameters, nowMs: number): Window {
  if (last !== undefined) return lastWindow(last, nowMs);
  if (start === undefined && end === undefined) return lastWindow('1h', nowMs);
  if (start === undefined || end === undefined) throw invalid('Send start and end together, or last.');
  const window = { startMs: instant('start', start), endMs: instant('end', end) };
  if (window.startMs >= window.endMs) throw invalid('Let start be before end.');
  return window;
}

function lastWindow(last: string, nowMs: number): Window {
  const match = /^(\d+)([mhd])$/.exec(last);
  const sizeMs = match ? Number(match[1]) * unitMs[match[2]!]! : 0;
  if (sizeMs === 0) throw invalid('Let last be a whole number above 0 and one of m, h, d: last=15m, last=6h, last=7d.');
  const startMs = nowMs + 1 - sizeMs;
  if (startMs < earliestMs) throw invalid('Let last reach back to the year 1 at most.');
  return { startMs, endMs: nowMs + 1 };
}

function instant(name: string, text: string): number {
  const ms = isoTimeMs(text) ?? isoTimeMs(withoutForm(text));
  if (ms === undefined) throw invalid(`Let ${name} be an ISO 8601 time such as 2026-01-31T12:00:00Z; in a URL, write + as %2B.`);
  return ms;
}

/** URLs of forms exchange blanks and pluses: mend a plus behind the date and a blank before the offset. */
const withoutForm = (text: string): string => text.replace(/^([^Tt +]+)[ +](?=\d)/, '$1T').replace(/ (?=\d{2}:?(?:\d{2})?$)/, '+');

const invalid = (detail: string): TelemetryError => new TelemetryError('invalid_window', detail);
