import { setTimeout as pause } from 'node:timers/promises';

const deadlineMs = 30_000;

/** Tries until `attempt` does not throw, and gives what it gave. After a generous deadline it rejects with the last error. */
export async function eventually<T>(attempt: () => Promise<T> | T): Promise<T> {
  const endMs = performance.now() + deadlineMs;
  for (let pauseMs = 2; ; pauseMs = Math.min(2 * pauseMs, 250)) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
    await pause(pauseMs);
  }
}
