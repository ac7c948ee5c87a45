import { HeadwaterError } from './error.js';

const busyStatuses: readonly number[] = [429, 502, 503, 504];
const longestTimerMs = 2 ** 31 - 1;

/** Whether the same request may succeed later: the network failed, or the server is busy or away. */
export function mayPass(error: unknown): boolean {
  if (!(error instanceof HeadwaterError)) return false;
  return error.status === undefined ? ['no_answer', 'timeout'].includes(error.code) : busyStatuses.includes(error.status);
}

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

/** Resolves after so many milliseconds. Rejects with the reason of `signal`. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error);
    const end = (): void => {
      clearTimeout(timer);
      reject(signal!.reason as Error);
    };
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end);
        resolve();
      },
      Math.min(ms, longestTimerMs),
    );
    signal?.addEventListener('abort', end, { once: true });
  });
}
