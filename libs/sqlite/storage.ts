import { join } from 'node:path';
import type { RecordLog, Views } from '#log';
import type { EventStore, SeriesStore } from '#stores';
import { AvroCodec, topics } from '#topics';
import { openDataFolder, type DataFolder } from './data-folder.js';
import { logFileName } from './log/fault.js';
import { SqliteLog } from './log/sqlite-log.js';
import { SqliteViews } from './log/sqlite-views.js';
import { keepPartitionCounts } from './partition-counts.js';
import { SchemaFile } from './schema-file.js';
import { openStores, type Stores } from './stores.js';

/** The file with the projections in it; it can be made again from the log. */
export const storeFileName = 'store.db';

/** Everything that is kept, in one data folder. */
export interface Storage {
  readonly log: RecordLog;
  readonly views: Views;
  readonly series: SeriesStore;
  readonly events: EventStore;
  /** What the operator should know of the folder, as sentences. */
  readonly warnings: readonly string[];
  /** Writes what waits and closes the files. Consumers are stopped before. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would; the folder can be opened again. For tests. */
  crash(): Promise<void>;
}

/** What processors work with. */
export type Ports = Pick<Storage, 'log' | 'views' | 'series' | 'events'>;

/** A storage whose log can also be read from the beginning. */
export type OpenedStorage = Storage & { readonly log: SqliteLog };

/**
 * Opens a data folder, made if need be; one storage has it at a time.
 * Rejects DataFolderError, `log_corrupt` when something that was acknowledged is not there, and `store_corrupt` or `store_unavailable`
 * when the projections cannot be opened.
 */
export async function openStorage(dir: string): Promise<OpenedStorage> {
  const folder = openDataFolder(dir);
  const opened = new AsyncDisposableStack();
  opened.defer(() => folder.release());
  try {
    const log = await openLog(folder);
    opened.defer(() => log.close());
    const stores = await openStores(join(folder.path, storeFileName));
    opened.defer(() => stores.close());
    return {
      ...portsOf(log, stores),
      log,
      warnings: [log.warning].filter((warning) => warning !== undefined),
      close: () => opened.disposeAsync(),
      crash: async () => {
        await Promise.all([log.crash(), stores.crash()]).finally(() => folder.release());
      },
    };
  } catch (cause) {
    await opened.disposeAsync();
    throw cause;
  }
}

export async function openLog(folder: DataFolder): Promise<SqliteLog> {
  keepPartitionCounts(folder.path, topics);
  const codec = await AvroCodec.open(new SchemaFile(join(folder.path, 'schemas.json')), topics);
  return SqliteLog.open(join(folder.path, logFileName), codec, topics);
}

export function portsOf(log: SqliteLog, { series, events }: Stores): Ports {
  return { log, views: new SqliteViews(log, topics), series, events };
}
