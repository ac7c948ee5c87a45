import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { makePrivate, sync } from './durable-file.js';

/** The file with the projections in it; it can be made again from the log. */
export const storeFileName = 'store.db';

/** The copy of the store, in the data folder, that a server sends as a backup; it loses this name before the first byte is sent. */
export const storeCopyName = `${storeFileName}.copy`;

/** The format of the store's tables: raise it when they change. A store of any other format is made again from the log at the start. */
export const storeFormat = 2;

/**
 * Pages that the write-ahead file may hold before they are moved into the store (32 MiB). An event touches a page of each index, and a page that
 * many events touch is moved once: that takes a fifth less CPU than SQLite's default of 1,000.
 */
const walPages = 8_000;
/** Size to which the write-ahead file is cut once its pages are moved. */
const keptWalBytes = 8 * 1024 * 1024;

/**
 * Opens the file that the stores share, for its one writer. A commit is durable once it returns (FULL syncs the write-ahead file at each
 * commit), so a group's offset never moves past what the store holds.
 */
export function openStoreForWriting(file: string): DatabaseSync {
  makePrivate(file);
  const db = new DatabaseSync(file);
  db.exec('PRAGMA page_size = 4096; PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  db.exec(`PRAGMA busy_timeout = 10000; PRAGMA journal_size_limit = ${keptWalBytes}`);
  db.exec(`PRAGMA wal_autocheckpoint = ${walPages}`);
  return db;
}

/** Opens it for one of its readers, each of which sees what was committed when its transaction began. */
export function openStoreForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  db.exec('PRAGMA busy_timeout = 10000');
  return db;
}

/** The format that was written last; 0 when there is none, as in stores of older versions. */
export function formatOf(db: DatabaseSync): number {
  return Number(db.prepare('PRAGMA user_version').get()!['user_version']);
}

export function writeFormat(db: DatabaseSync): void {
  if (formatOf(db) !== storeFormat) db.exec(`PRAGMA user_version = ${storeFormat}`);
}

/**
 * Moves everything from the write-ahead file of a store that nobody has open into its file, durably.
 * @throws Error of SQLite, or TelemetryError `store_unavailable`, when something is left in the write-ahead file, as on a full disk.
 */
export function settleStore(file: string): void {
  const wal = `${file}-wal`;
  {
    using db = openStoreForWriting(file);
    db.exec('PRAGMA busy_timeout = 1000');
    const { busy } = db.prepare('PRAGMA wal_checkpoint(TRUNCATE)').get() as { busy: number };
    if (busy !== 0) throw new TelemetryError('store_unavailable', 'Something else has the store open.');
  }
  if (statSync(wal, { throwIfNoEntry: false })?.size)
    throw new TelemetryError('store_unavailable', 'The write-ahead file cannot be emptied.');
  for (const left of [wal, `${file}-shm`]) rmSync(left, { force: true });
  sync(file);
}

/** Removes the file and all that SQLite keeps beside it. */
export function removeStore(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) rmSync(`${file}${suffix}`, { force: true });
}
