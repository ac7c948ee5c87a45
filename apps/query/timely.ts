import { TelemetryError } from '#model';

/** How long a question to the stores may take, with the time that it waits for its turn. */
export const patienceMs = 10_000;

export const tooLate = (): TelemetryError => new TelemetryError('store_unavailable', 'Ask again in a moment, or for less at once.');

/** What a store answers, if it does so in time. Rejects `store_unavailable` otherwise. */
export async function timely<T>(answer: Promise<T>, maxMs: number = patienceMs): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(tooLate()), maxMs);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
