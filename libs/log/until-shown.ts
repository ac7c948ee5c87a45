import { TelemetryError } from '#model';
import type { View } from './view.js';

/** Settles as the work does. Rejects `log_unavailable` with the sentence after `ms` milliseconds. */
export function inTime<T>(work: Promise<T>, ms: number, sentence: string): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new TelemetryError('log_unavailable', sentence, { retryAfterS: 1 })), ms);
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer));
}

/** `View.until` of any view, on its other promises. */
export function untilShown<V>(
  view: Pick<View<V>, 'get' | 'changes' | 'ready'>,
  key: string,
  predicate: (value: V | undefined) => boolean,
  ms: number,
): Promise<V | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<V | undefined>();
  let isReady = false;
  const look = (): void => {
    const value = view.get(key);
    if (isReady && predicate(value)) resolve(value);
  };
  const end = view.changes((change) => change.key === key && look());
  view.ready
    .then(() => (isReady = true))
    .then(look)
    .catch(reject);
  return inTime(promise, ms, 'The log has not shown the change in time.').finally(end);
}
