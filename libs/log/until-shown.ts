import { TelemetryError } from '#model';
import { inTime } from './in-time.js';
import type { View } from './view.js';

/** The log is late, which may pass. @param sentence what it has not done. */
export const logIsLate = (sentence: string) => (): TelemetryError => new TelemetryError('log_unavailable', sentence, { retryAfterS: 1 });

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
  return inTime(promise, ms, logIsLate('The log has not shown the change in time.')).finally(end);
}
