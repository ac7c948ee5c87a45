import { TelemetryError } from './errors.js';
import { isoTimeMs } from './iso-time.js';
import type { Window } from './window.js';

/** The parameters of every windowed endpoint, as they stand in the query string. */
export interface WindowParameters {
  readonly last?: string | undefined;
  readonly start?: string | undefined;
  readonly end?: string | undefined;
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };
const longestMs = 36_525 * unitMs['d']!;

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
  const match = /^(\d{1,8})([mhd])$/.exec(last);
  const sizeMs = match ? Number(match[1]) * unitMs[match[2]!]! : 0;
  if (sizeMs === 0) throw invalid('Let last be a whole number above 0 and one of m, h, d: last=15m, last=6h, last=7d.');
  if (sizeMs > longestMs) throw invalid('Let last be at most 36525d, a hundred years.');
  return { startMs: nowMs + 1 - sizeMs, endMs: nowMs + 1 };
}

function instant(name: string, text: string): number {
  const ms = isoTimeMs(text);
  if (ms === undefined) throw invalid(`Let ${name} be an ISO 8601 time such as 2026-01-31T12:00:00Z; in a URL, write + as %2B.`);
  return ms;
}

const invalid = (detail: string): TelemetryError => new TelemetryError('invalid_window', detail);
