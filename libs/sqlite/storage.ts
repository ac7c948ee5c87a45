import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DeadLetters, LogViews, type Groups, type RecordLog, type Views } from '#log';
import type { EventStore, SeriesStore } from '#stores';
import { AvroCodec, groups, topics } from '#topics';
import { DataFolderError, openDataFolder, type DataFolder } from './data-folder.js';
import { fitStore, storeFileName } from './fitting-store.js';
import { logFileName } from './log/fault.js';
import { SqliteGroups } from './log/groups.js';
import { PositionedLetters } from './log/letter-places.js';
import { SqliteLog } from './log/sqlite-log.js';
import { keepPartitionCounts } from './partition-counts.js';
import { SchemaFile, schemaFileName } from './schema-file.js';
import { openStores, type Stores } from './stores.js';

/** Everything that is kept, in one data folder. */
export interface Storage {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: Groups;
  readonly deadLetters: DeadLetters;
  readonly series: SeriesStore;
  readonly events: EventStore;
  /** What the operator should know of the folder, as sentences. */
  readonly warnings: readonly string[];
  /** Writes what waits and closes the files. Stop the consumers first. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would; the folder can be opened again. For tests. */
  crash(): Promise<void>;
}

/** A storage whose log can also be read from the beginning. */
export type OpenedStorage = Storage & { readonly log: SqliteLog };

/**
 * Opens a data folder, made if need be; one storage has it at a time. A store that is missing or of another version begins empty: the
 * processors make it again from the log.
 * Rejects DataFolderError, also when log and store do not belong together, `log_corrupt` when something that was acknowledged is not
 * there, and `store_corrupt` or `store_unavailable` when the projections cannot be opened.
 */
export async function openStorage(dir: string): Promise<OpenedStorage> {
  const folder = openDataFolder(dir);
  const opened = new AsyncDisposableStack();
  opened.defer(() => folder.release());
  try {
    const log = await openLog(folder);
    opened.defer(() => log.close());
    const building = fitStore(folder.path, log);
    const stores = await openStores(join(folder.path, storeFileName), log.epochs);
    opened.defer(() => stores.close());
    keepPositions(log, stores);
    return {
      log,
      views: new LogViews(log, topics),
      groups: new SqliteGroups(log, topics),
      deadLetters: new DeadLetters({
        log,
        topics,
        places: new PositionedLetters(log),
        valueOf: (topic, bytes) => log.codec.valueOf(topic, bytes),
      }),
      series: stores.series,
      events: stores.events,
      warnings: [log.warning, building].filter((warning) => warning !== undefined),
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
  const file = join(folder.path, logFileName);
  const schemas = join(folder.path, schemaFileName);
  if (existsSync(file) && !existsSync(schemas)) throw new DataFolderError(lostSchemas(folder.path));
  keepPartitionCounts(folder.path, topics);
  const codec = await AvroCodec.open(new SchemaFile(schemas), topics);
  return SqliteLog.open(file, codec, topics);
}

const lostSchemas = (folder: string): string =>
  `The data folder ${folder} has ${logFileName} and no ${schemaFileName}, without which the records of the log cannot be read: restore it from ` +
  'a copy of the folder. Where there is none, a new folder of the version that made this one has the same file.';

/** Has the positions of projectors kept in the store: they change in the same file as what the projectors write, so that both are lost or neither. */
export function keepPositions(log: SqliteLog, { positions }: Stores): void {
  const projectors = groups.filter(({ kind }) => kind === 'projector');
  log.keepWith(
    positions,
    projectors.map(({ name }) => name),
  );
}
