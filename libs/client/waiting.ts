/** By a clock that never jumps, whatever happens to the time of day. */
export const monotonicMs = (): number => performance.now();

const longestTimerMs = 2 ** 31 - 1;

type Timer = ReturnType<typeof setTimeout>;

/** It rings after 24 days at the latest. */
const start = (ms: number, done: () => void): Timer => setTimeout(done, Math.min(ms, longestTimerMs));

/** A timer that does not keep the process alive, where there are processes. */
export function timer(ms: number, done: () => void): Timer {
  const started = start(ms, done);
  (started as { unref?: () => void }).unref?.();
  return started;
}

/** Calls `follow` when `signal` aborts, or at once if it has. Returns what lets go of the signal, which may live as long as the process. */
export function onAbort(signal: AbortSignal | undefined, follow: (reason: Error) => void): () => void {
  const aborted = (): void => follow(signal!.reason as Error);
  if (signal?.aborted) aborted();
  else signal?.addEventListener('abort', aborted, { once: true });
  return () => signal?.removeEventListener('abort', aborted);
}

/** Waits for a promise, but no longer than until `signal` aborts: then it rejects with the reason of the signal. */
export const until = <T>(done: Promise<T>, signal: AbortSignal | undefined): Promise<T> =>
  new Promise((resolve, reject) => {
    const release = onAbort(signal, reject);
    void done.then(resolve, reject).finally(release);
  });

/** Waits for a promise, and calls `late` if that takes longer than so many milliseconds. */
export function within<T>(ms: number, done: Promise<T>, late: () => void): Promise<T> {
  const limit = start(ms, late);
  return done.finally(() => clearTimeout(limit));
}

/** Resolves after so many milliseconds. Rejects with the reason of `signal`. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let end: Timer | undefined;
  const over = new Promise<void>((resolve) => (end = start(ms, resolve)));
  await until(over, signal).finally(() => clearTimeout(end));
}

/** Lets one loop sleep until somebody rings. */
export interface Bell {
  readonly ring: () => void;
  /** Resolves when the bell rings or has rung since the last wait, or after so many milliseconds. */
  readonly wait: (ms: number) => Promise<void>;
}

export function bell(): Bell {
  let hasRung = false;
  let wake: (() => void) | undefined;
  return {
    ring() {
      hasRung = true;
      wake?.();
    },
    async wait(ms) {
      let limit: Timer | undefined;
      if (!hasRung)
        await new Promise<void>((resolve) => {
          wake = resolve;
          limit = timer(ms, resolve);
        });
      clearTimeout(limit);
      hasRung = false;
    },
  };
}
