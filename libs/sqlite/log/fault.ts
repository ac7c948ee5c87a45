import { TelemetryError } from '#model';

/** The folder, in the data folder, that has the log's files. */
export const logFolderName = 'log';

/** The error for damage at a place in the log, which names its file; never for what a retry may mend. */
export function damaged(place: string, cause?: unknown): TelemetryError {
  return new TelemetryError('log_corrupt', `The log is damaged: ${place}`, { cause });
}

/** Whether an error of the disk says that there is no room. */
export const isFull = (code: string): boolean => ['ENOSPC', 'EDQUOT', 'EFBIG'].includes(code);

/** The error to throw in place of one of the disk. `doing` says what failed, and where. */
export function logFault(cause: unknown, doing: string): TelemetryError {
  if (cause instanceof TelemetryError) return cause;
  const { code = '', message } = cause as NodeJS.ErrnoException;
  const why = isFull(code) ? `the disk is full (${code}): ${message}` : message;
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
