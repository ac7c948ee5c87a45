import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Group } from '#log';
import { checkRow, columnsChecksum } from './checksum.js';
import { DataFolderError } from './data-folder.js';
import type { Epoch } from './log/epochs.js';
import type { FileLog } from './log/file-log.js';
import { nextOffset } from './log/positions.js';
import { storeFailure } from './store-failure.js';
import { formatOf, openStoreForWriting, removeStore, storeFileName, storeFormat } from './store-file.js';

/** The log that a store was made from, and how much of that log is in it. */
interface Origin {
  /** Id of the log's oldest epoch. */
  readonly log: string;
  /** Id of the epoch of the newest record that is in the store. */
  readonly epoch: string;
  /** The offset after that record. */
  readonly next: number;
}

/** Keeps the store's origin. It changes in the same transaction as the content of the store, so that both always agree. */
export class StoreOrigin {
  readonly #put: StatementSync;
  #next: number;

  /** @param epochs of the log, oldest first; none for a store without a log. */
  constructor(
    db: DatabaseSync,
    private readonly epochs: readonly Epoch[],
  ) {
    db.exec(
      'CREATE TABLE IF NOT EXISTS origin(id INTEGER PRIMARY KEY CHECK (id = 1), log TEXT NOT NULL, epoch TEXT NOT NULL, next INT NOT NULL, crc INT NOT NULL)',
    );
    this.#put = db.prepare('INSERT OR REPLACE INTO origin(id, log, epoch, next, crc) VALUES (1, ?, ?, ?, ?)');
    this.#next = read(db)?.next ?? 0;
  }

  /** Call it in the transaction that puts records with offsets below `next` into the store, or says that they are there. */
  took(next: number): void {
    const [oldest] = this.epochs;
    if (!oldest || next <= 0) return;
    this.#next = Math.max(this.#next, next);
    const { id } = this.epochs.findLast(({ start }) => start < this.#next) ?? oldest;
    this.#put.run(oldest.id, id, this.#next, columnsChecksum(oldest.id, id, this.#next));
  }
}

/**
 * Makes sure that the store of a data folder can be opened with the folder's log. A store that this version cannot use is removed, so that the
 * processors make it again from the log; then this returns a sentence for the operator.
 * @throws DataFolderError when the store has records that the log lacks: new records at their offsets would be dropped as known. Also when the store
 * would be made again and the log has dropped records that only the store may still have.
 * @throws TelemetryError `store_corrupt` and `store_unavailable`.
 */
export function fitStore(folder: string, { epochs, head, begins }: Pick<FileLog, 'epochs' | 'head' | 'begins'>): string | undefined {
  const file = join(folder, storeFileName);
  const found = statSync(file, { throwIfNoEntry: false })?.size ? look(file, epochs) : undefined;
  if (found?.relation === 'foreign' || found?.relation === 'ahead' || (found?.relation === 'unknown' && head === 0)) {
    throw new DataFolderError(refusal(folder, found.relation, begins));
  }
  if (found?.relation === 'fits' && found.format === storeFormat) return undefined;
  const why = found ? `${storeFileName} was written by another version` : `${storeFileName} is missing or empty`;
  if (begins > 0) throw new DataFolderError(`In the data folder ${folder}, ${why}. ${onlyInStore(folder)}`);
  removeStore(file);
  if (head === 0) return undefined;
  return `${why}: it is made again from the log, and the server is ready once that is done.`;
}

/**
 * Makes sure that what was dropped from a log had come to its store.
 * @throws DataFolderError when it had not, as with a store from an older copy: the store would lack these records for ever.
 */
export async function checkNoneMissed(
  folder: string,
  log: Pick<FileLog, 'begins' | 'positions'>,
  projectors: readonly Pick<Group, 'name' | 'inputs'>[],
): Promise<void> {
  for (const { name, inputs } of log.begins > 0 ? projectors : []) {
    const saved = await log.positions(name);
    if (inputs.every((topic) => nextOffset(saved, topic) >= log.begins)) continue;
    const what = `In the data folder ${folder}, ${storeFileName} lacks records that were dropped from the log since, as one of an older copy does.`;
    throw new DataFolderError(`${what} ${onlyInStore(folder)}`);
  }
}

/** What to do where the log alone would make a poorer store. */
export const onlyInStore = (folder: string): string =>
  'The log has dropped its oldest records (HEADWATER_KEEP_LOG), so it cannot make all of the store again: restore the whole folder from one copy, or run ' +
  `\`headwater rebuild --data ${folder} --without-deleted-records\`, which makes a store of what the log still has.`;

function look(file: string, epochs: readonly Epoch[]): { readonly relation: Relation; readonly format: number } {
  try {
    using db = openStoreForWriting(file);
    return { relation: relationOf(db, epochs), format: formatOf(db) };
  } catch (cause) {
    throw storeFailure(cause);
  }
}

function refusal(folder: string, relation: Relation, begins: number): string {
  const what =
    relation === 'foreign'
      ? `In the data folder ${folder}, ${storeFileName} was made from another log than the one in log/: put the two of one folder together`
      : `In the data folder ${folder}, ${storeFileName} has records that the log in log/ does not have, because log/ was restored from an older copy or has lost its end: ` +
        'restore both from the same copy';
  if (begins > 0) return `${what}. ${onlyInStore(folder)}`;
  return (
    `${what}. If log/ is the right one, run \`headwater rebuild --data ${folder}\`, or move ${storeFileName}, ${storeFileName}-wal and ` +
    `${storeFileName}-shm away: either way the store is made again from the log.`
  );
}

/**
 * Whether a store belongs to a log: `ahead` when the store has records that the log lacks, `foreign` when it was made from another log,
 * `unknown` when the store does not say what it was made from, as stores of older versions.
 */
type Relation = 'fits' | 'foreign' | 'ahead' | 'unknown';

/** How the store in an open file belongs to a log with these epochs. @throws TelemetryError `store_corrupt`. */
function relationOf(db: DatabaseSync, epochs: readonly Epoch[]): Relation {
  const tables = db
    .prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .all()
    .map(({ name }) => String(name));
  const origin = tables.includes('origin') ? read(db) : undefined;
  if (!origin) return tables.every((name) => isEmpty(db, name)) ? 'fits' : 'unknown';
  if (origin.log !== epochs[0]!.id) return 'foreign';
  const at = epochs.findIndex(({ id }) => id === origin.epoch);
  return at >= 0 && origin.next <= (epochs[at + 1]?.start ?? 0) ? 'fits' : 'ahead';
}

const isEmpty = (db: DatabaseSync, table: string): boolean => db.prepare(`SELECT 1 FROM "${table}" LIMIT 1`).get() === undefined;

function read(db: DatabaseSync): Origin | undefined {
  const row = db.prepare('SELECT log, epoch, next, crc FROM origin').get() as (Origin & { readonly crc: number }) | undefined;
  if (row) checkRow('where it was made from', row.crc, row.log, row.epoch, row.next);
  return row;
}
