import { TelemetryError } from '#model';
import type { Handlers } from './worker.js';

/** SQLite's primary result codes for a file that is not what SQLite wrote. */
const damage = new Set([11, 26]);
const full = 13;
/** Result codes for what may be over soon: busy, locked, no memory, read-only, I/O error, full, cannot open, protocol. */
const trouble = new Set([5, 6, 7, 8, 10, 13, 14, 15]);

/**
 * The call `open`, and from then on the handlers that `open` makes. When SQLite fails in one of them, the error says whether the store is damaged or only
 * unavailable now.
 */
export function withStoreFailures(open: (argument: never) => Handlers): Handlers {
  const handlers: Record<string, (argument: never) => unknown> = {
    open: translating((argument: never) => {
      for (const [name, handler] of Object.entries(open(argument))) handlers[name] = translating(handler);
    }),
  };
  return handlers;
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

/** The error to throw in place of one that was thrown while the store was used. */
export function storeFailure(cause: unknown): unknown {
  const { errcode = 0, code } = cause as { errcode?: number; code?: string };
  const primary = errcode & 0xff;
  if (damage.has(primary) || code === 'ERR_OUT_OF_RANGE') {
    return new TelemetryError('store_corrupt', 'The store is damaged: have the operator rebuild it from the log.', { cause });
  }
  if (!isTrouble(cause)) return cause;
  const why = primary === full ? new Error('the disk is full (ENOSPC)', { cause }) : cause;
  return new TelemetryError('store_unavailable', 'Try again when the store can be used.', { cause: why });
}

/** Whether SQLite could not do its work, though its file may be as it was written. */
export const isTrouble = (cause: unknown): boolean => trouble.has(((cause as { readonly errcode?: number }).errcode ?? 0) & 0xff);
