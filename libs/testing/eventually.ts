import { setTimeout as pause } from 'node:timers/promises';

/** Well below the time a test has, so that what failed is told and not that time ran out. */
export const patienceMs = 60_000;

/**
 * Tries until `attempt` does not throw, and gives what it gave. After a generous deadline it rejects with the last error; an attempt that
 * is still under way then is not waited for.
 */
export async function eventually<T>(attempt: () => Promise<T> | T, deadlineMs = patienceMs): Promise<T> {
  const late = AbortSignal.timeout(deadlineMs);
  let failure: unknown = new Error('the first attempt does not end');
  const gaveUp = new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(failure)));
  const trying = async (): Promise<T> => {
    for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, 250)) {
      try {
        return await attempt();
      } catch (error) {
        failure = error;
        if (late.aborted) throw error;
      }
      await pause(pauseMs);
    }
  };
  return Promise.race([trying(), gaveUp]);
}
