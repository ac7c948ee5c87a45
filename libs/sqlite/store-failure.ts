import { TelemetryError } from '#model';
import type { Handlers } from './worker.js';

/** SQLite's primary result codes for a file that is not what SQLite wrote. */
const damage = new Set([11, 26]);
/** For what may pass: busy, locked, no memory, read-only, I/O error, full, cannot open, protocol. */
const trouble = new Set([5, 6, 7, 8, 10, 13, 14, 15]);

/**
 * The handlers that `open` makes; when SQLite fails, their error says whether the store is damaged or only cannot be had now. When `open`
 * itself fails, `ready` says why.
 */
export function withStoreFailures(open: () => Handlers): Handlers {
  try {
    return Object.fromEntries(Object.entries(open()).map(([name, handler]) => [name, translating(handler)]));
  } catch (cause) {
    const ready = (): never => {
      throw storeFailure(cause);
    };
    return { ready };
  }
}

function translating(handler: (argument: never) => unknown): (argument: never) => unknown {
  return (argument) => {
    try {
      return handler(argument);
    } catch (cause) {
      throw storeFailure(cause);
    }
  };
}

/** What to throw for something that was thrown while the store was used. */
export function storeFailure(cause: unknown): unknown {
  const { errcode = 0, code } = cause as { errcode?: number; code?: string };
  const primary = errcode & 0xff;
  if (damage.has(primary) || code === 'ERR_OUT_OF_RANGE') {
    return new TelemetryError('store_corrupt', 'The store is damaged: have the operator rebuild it from the log.', { cause });
  }
  return trouble.has(primary) ? new TelemetryError('store_unavailable', 'Try again when the store can be used.', { cause }) : cause;
}
