import { TelemetryError } from '#model';
import type { View } from './view.js';

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
  const late = (): void => reject(new TelemetryError('log_unavailable', 'The log has not shown the change in time.', { retryAfterS: 1 }));
  const timer = setTimeout(late, ms);
  const end = view.changes((change) => change.key === key && look());
  view.ready
    .then(() => (isReady = true))
    .then(look)
    .catch(reject);
  return promise.finally(() => {
    clearTimeout(timer);
    end();
  });
}
