import { statSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderError } from './data-folder.js';
import type { SqliteLog } from './log/sqlite-log.js';
import { storeFailure } from './store-failure.js';
import { formatOf, openStoreForWriting, removeStore, storeFormat } from './store-file.js';
import { relationOf, type Relation } from './store-origin.js';

/** The file with the projections in it; it can be made again from the log. */
export const storeFileName = 'store.db';

/**
 * Makes sure that the store of a data folder can be opened with the folder's log. A store that this version cannot use is removed, so that the
 * processors make it again from the log; then this returns a sentence for the operator.
 * @throws DataFolderError when the store has records that the log lacks: new records at their offsets would be dropped as known.
 * @throws TelemetryError `store_corrupt` and `store_unavailable`.
 */
export function fitStore(folder: string, { epochs, head }: Pick<SqliteLog, 'epochs' | 'head'>): string | undefined {
  const file = join(folder, storeFileName);
  const found = statSync(file, { throwIfNoEntry: false })?.size ? look(file, epochs) : undefined;
  if (found?.relation === 'foreign' || found?.relation === 'ahead' || (found?.relation === 'unknown' && head === 0)) {
    throw new DataFolderError(refusal(folder, found.relation));
  }
  if (found?.relation === 'fits' && found.format === storeFormat) return undefined;
  removeStore(file);
  if (head === 0) return undefined;
  const why = found ? `${storeFileName} was written by another version` : `${storeFileName} is missing or empty`;
  return `${why}: it is made again from the log, and the server is ready once that is done.`;
}

function look(file: string, epochs: SqliteLog['epochs']): { readonly relation: Relation; readonly format: number } {
  try {
    using db = openStoreForWriting(file);
    return { relation: relationOf(db, epochs), format: formatOf(db) };
  } catch (cause) {
    throw storeFailure(cause);
  }
}

function refusal(folder: string, relation: Relation): string {
  const what =
    relation === 'foreign'
      ? `In the data folder ${folder}, ${storeFileName} was made from another log than log.db: put the two files of one folder together`
      : `In the data folder ${folder}, ${storeFileName} has records that log.db does not have, because log.db was restored from an older copy or has lost its end: ` +
        'restore both from the same copy';
  return (
    `${what}. If log.db is the right one, run \`headwater rebuild --data ${folder}\`, or move ${storeFileName}, ${storeFileName}-wal and ` +
    `${storeFileName}-shm away: either way the store is made again from the log.`
  );
}
