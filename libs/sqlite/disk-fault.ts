import { TelemetryError } from '#model';
import { DataFolderError } from './data-folder.js';
import { isFull } from './log/fault.js';

/** Runs `work`, and rejects DataFolderError, which names what failed, in place of an error of the disk. */
export async function onDisk<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === undefined || cause instanceof TelemetryError) throw cause;
    throw new DataFolderError(`${doing} failed: ${isFull(code) ? `the disk is full (${code}): ` : ''}${message}.`, { cause });
  }
}
