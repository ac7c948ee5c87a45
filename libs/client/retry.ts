import { HeadwaterError } from './error.js';

const passing: readonly (string | number)[] = [429, 502, 503, 504, 'no_answer', 'timeout'];

/** Whether the same request may succeed later: the network failed, or the server is busy or away. */
export const mayPass = (error: unknown): boolean => error instanceof HeadwaterError && passing.includes(error.status ?? error.code);

export interface PauseBounds {
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait before the next try: anything up to a bound that doubles from try to try, so that those who failed together do not come
 * back together. What the server asks for in Retry-After comes on top.
 */
export function pauseMs(error: unknown, tries: number, { firstMs, maxMs }: PauseBounds = { firstMs: 500, maxMs: 30_000 }): number {
  const asked = error instanceof HeadwaterError ? (error.retryAfterMs ?? 0) : 0;
  return asked + Math.random() * Math.min(maxMs, firstMs * 2 ** tries);
}
