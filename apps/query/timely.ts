import { TelemetryError } from '#model';

const patienceMs = 10_000;

/** What a store answers, if it does so within 10 s. Rejects `store_unavailable` otherwise. */
export async function timely<T>(answer: Promise<T>, maxMs: number = patienceMs): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TelemetryError('store_unavailable', 'Ask again in a moment, or for less at once.')), maxMs);
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}
