import { invalid } from '../error.js';
import type { Parameters } from './access.js';

/** A date, ISO 8601 text (UTC unless it says otherwise), Unix milliseconds, or a span before now, such as `24h`. */
export type Time = Date | string | number;

/** From `start`, which belongs to it, to `end`, which does not; or the `last` so much, such as `15m`, `6h` or `7d`. Nothing is the last hour. */
export interface Window {
  readonly last?: string | undefined;
  readonly start?: Time | undefined;
  /** Now, where only the start is given. */
  readonly end?: Time | undefined;
}

const unitMs: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** A window as the server is asked for it: it knows best what time it is. @throws HeadwaterError */
export function asked({ last, start, end }: Window, nowMs = Date.now()): Parameters {
  return { last, start: textOf(start, nowMs), end: textOf(end ?? (start === undefined ? end : nowMs + 1), nowMs) };
}

/** The same window at any later time, by the clock of this machine: a query asks for it page by page. @throws HeadwaterError */
export function fixed(window: Window, nowMs = Date.now()): Parameters {
  const { last = '1h', start, end } = window;
  // What the server makes of a wrong span is the better sentence.
  const isSpan = (start ?? end) === undefined && spanMs(last) !== undefined;
  return asked(isSpan ? { start: last } : window, nowMs);
}

/** As the server is told a time. @throws HeadwaterError */
export function textOf(time: Time | undefined, nowMs = Date.now()): string | undefined {
  if (time === undefined) return undefined;
  if (typeof time !== 'string') return isoOf(Number(time));
  const sizeMs = spanMs(time);
  // Text is for the server to read: it knows more forms than a browser does.
  return sizeMs === undefined ? time : isoOf(nowMs + 1 - sizeMs);
}

function spanMs(text: string): number | undefined {
  const match = /^(\d+)([mhd])$/.exec(text);
  return match ? Number(match[1]) * unitMs[match[2]!]! : undefined;
}

export function isoOf(ms: number): string {
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw invalid(`${ms} is not a time: give a date or Unix milliseconds.`);
  return date.toISOString();
}
