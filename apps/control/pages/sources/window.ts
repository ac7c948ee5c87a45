import { isoTimeMs, TelemetryError, type Window } from '#model';

/** The windows that a page offers, milliseconds. */
export const windowSizes = { '1h': 3_600_000, '6h': 21_600_000, '24h': 86_400_000, '7d': 604_800_000, '30d': 2_592_000_000 } as const;
export type WindowSize = keyof typeof windowSizes;
export const windowNames = Object.keys(windowSizes) as readonly WindowSize[];

/** The window that a page shows. */
export interface Shown {
  readonly size: WindowSize;
  readonly window: Window;
  /** It goes up to now, and moves on with it. */
  readonly isNow: boolean;
}

const earliestMs = Date.parse('2000-01-01T00:00:00Z');

/** @param end ISO 8601; undefined for now. @throws TelemetryError `invalid_window`. */
export function shownWindow(size: WindowSize, end: string | undefined, nowMs: number): Shown {
  const endMs = end === undefined ? nowMs + 1 : isoTimeMs(end);
  if (endMs === undefined) throw new TelemetryError('invalid_window', 'Let end be a time such as 2026-01-31T12:00:00Z.');
  return { size, window: { startMs: endMs - windowSizes[size], endMs }, isNow: endMs > nowMs };
}

/** The address, in a query, of a window of this size that ends then; of one that ends now where it would go beyond. */
export function windowQuery(size: WindowSize, endMs: number, nowMs: number): string {
  return endMs >= nowMs ? `last=${size}` : `last=${size}&end=${new Date(endMs).toISOString().replace('.000Z', 'Z')}`;
}

/** The addresses of the windows before and after; undefined where there is nothing to see. */
export function neighbours({ size, window, isNow }: Shown, nowMs: number): { readonly earlier?: string; readonly later?: string } {
  const stepMs = windowSizes[size];
  // To a minute, for addresses that people can read.
  const startMs = Math.floor(window.startMs / 60_000) * 60_000;
  return {
    ...(startMs > earliestMs && { earlier: windowQuery(size, startMs, nowMs) }),
    ...(!isNow && { later: windowQuery(size, window.endMs + stepMs, nowMs) }),
  };
}
