import { TelemetryError } from '#model';

/** The file with the log in it, as error details name it. */
export const logFileName = 'log.db';

/** Primary result codes of SQLite that damage gives: our statements are fixed, so one that is wrong does not fit tables that have changed. */
const damageCodes: readonly number[] = [1, 11, 26];

/** The log is damaged at a place; never thrown for what a retry may mend. */
export function damaged(place: string, cause?: unknown): TelemetryError {
  return new TelemetryError('log_corrupt', `${logFileName} is damaged: ${place}`, { cause });
}

/** What an error of SQLite or of the disk means to those who use the log. `doing` says what failed, and where. */
export function logFault(cause: unknown, doing: string): TelemetryError {
  if (cause instanceof TelemetryError) return cause;
  const { errcode = 0, code, message } = cause as Error & { errcode?: number; code?: string };
  // A whole number that node:sqlite cannot hand over was never written by us.
  if (damageCodes.includes(errcode & 0xff) || code === 'ERR_OUT_OF_RANGE') return damaged(`${doing} failed: ${message}`, cause);
  return new TelemetryError('log_unavailable', `${doing} failed: ${message}`, { cause, retryAfterS: 1 });
}

/** Runs `work` and throws what its failure means. */
export function inLog<T>(doing: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw logFault(cause, doing);
  }
}
