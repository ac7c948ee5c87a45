import { TelemetryError } from '#model';
import type { Handlers } from './worker.js';

/** SQLite's primary result codes for a file that is not what SQLite wrote. */
const damage = new Set([11, 26]);
const full = 13;
/** SQLite's result code for a statement with an unknown table or column, among others. */
const misfit = 1;
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
    }, openingFailure),
  };
  return handlers;
}

function translating(handler: (argument: never) => unknown, failure = storeFailure): (argument: never) => unknown {
  return (argument) => {
    try {
      return handler(argument);
    } catch (cause) {
      throw failure(cause);
    }
  };
}

/** The statements fit the tables as we create them. When SQLite refuses to prepare one, the definition of a table in the file is damaged. */
const openingFailure = (cause: unknown): unknown => (primaryOf(cause) === misfit ? corrupt(cause) : storeFailure(cause));

/** The error to throw in place of one that was thrown while the store was used. */
export function storeFailure(cause: unknown): unknown {
  const primary = primaryOf(cause);
  if (damage.has(primary) || (cause as { readonly code?: string }).code === 'ERR_OUT_OF_RANGE') return corrupt(cause);
  if (!isTrouble(cause)) return cause;
  const why = primary === full ? new Error('the disk is full (ENOSPC)', { cause }) : cause;
  return new TelemetryError('store_unavailable', 'Try again when the store can be used.', { cause: why });
}

const corrupt = (cause: unknown): TelemetryError =>
  new TelemetryError('store_corrupt', 'The store is damaged: have the operator rebuild it from the log.', { cause });

/** Whether SQLite could not do its work, though its file may be as it was written. */
export const isTrouble = (cause: unknown): boolean => trouble.has(primaryOf(cause));

const primaryOf = (cause: unknown): number => ((cause as { readonly errcode?: number }).errcode ?? 0) & 0xff;
