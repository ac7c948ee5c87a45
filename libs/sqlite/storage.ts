import { join } from 'node:path';
import type { RecordLog, Views } from '#log';
import { AvroCodec, topics } from '#topics';
import { openDataFolder } from './data-folder.js';
import { logFileName } from './log/fault.js';
import { SqliteLog } from './log/sqlite-log.js';
import { SqliteViews } from './log/sqlite-views.js';
import { SchemaFile } from './schema-file.js';

/** Everything that is kept, in one data folder. */
export interface Storage {
  readonly log: RecordLog;
  readonly views: Views;
  /** Writes what waits and closes the files. Consumers are stopped before. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would; the folder can be opened again. For tests. */
  crash(): Promise<void>;
}

/**
 * Opens a data folder, made if need be; one storage has it at a time.
 * Rejects DataFolderError, and `log_corrupt` when something that was acknowledged is not there.
 */
export async function openStorage(dir: string): Promise<Storage> {
  const folder = openDataFolder(dir);
  try {
    const codec = await AvroCodec.open(new SchemaFile(join(folder.path, 'schemas.json')), topics);
    const log = await SqliteLog.open(join(folder.path, logFileName), codec, topics);
    return {
      log,
      views: new SqliteViews(log, topics),
      close: () => log.close().finally(() => folder.release()),
      crash: () => log.crash().finally(() => folder.release()),
    };
  } catch (cause) {
    folder.release();
    throw cause;
  }
}
