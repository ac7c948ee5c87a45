import { TelemetryError } from '#model';

/** The name of the log's file. */
export const logFileName = 'log.db';

/** Primary result codes of SQLite for damage. The statements are fixed, so SQLITE_ERROR (1) means that the tables have changed under them. */
const damageCodes: readonly number[] = [1, 11, 26];

/** SQLite's primary result code for a disk without room. */
const fullCode = 13;

/** The error for damage at a place in the log; never for what a retry may mend. */
export function damaged(place: string, cause?: unknown): TelemetryError {
  return new TelemetryError('log_corrupt', `${logFileName} is damaged: ${place}`, { cause });
}

/** The error to throw in place of one of SQLite or of the disk. `doing` says what failed, and where. */
function logFault(cause: unknown, doing: string): TelemetryError {
  if (cause instanceof TelemetryError) return cause;
  const { errcode = 0, code, message } = cause as Error & { errcode?: number; code?: string };
  // No number that was written is too large for node:sqlite: one that is has been damaged.
  if (damageCodes.includes(errcode & 0xff) || code === 'ERR_OUT_OF_RANGE') return damaged(`${doing} failed: ${message}`, cause);
  const why = (errcode & 0xff) === fullCode ? `the disk is full (ENOSPC): ${message}` : message;
  return new TelemetryError('log_unavailable', `${doing} failed: ${why}`, { cause, retryAfterS: 1 });
}

/** Runs `work`, and throws `logFault` of what it throws. */
export function inLog<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw logFault(cause, doing);
  }
}
