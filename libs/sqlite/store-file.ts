import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { makePrivate, sync } from './durable-file.js';
import type { Epoch } from './log/epochs.js';

/** What the writing thread is told of the file. */
export interface StoreFile {
  readonly file: string;
  /** Of the log that the store is made from, oldest first; none for a store without a log. */
  readonly epochs: readonly Epoch[];
}

/** What the tables of the store look like: raise it when they change. A store of any other format is made again from the log at the start. */
export const storeFormat = 2;

/**
 * Pages in the write-ahead file before they go to their places (32 MiB). An event touches a page of each index, and pages that many
 * events touch are moved once: a fifth less cpu than with SQLite's 1,000.
 */
const walPages = 8_000;
/** What stays of the write-ahead file once its pages are at their places. */
const keptWalBytes = 8 * 1024 * 1024;

/**
 * Opens the file that the stores share, for its one writer. A commit is durable once it returns (FULL syncs the write-ahead file at each
 * commit): a group's offset moves only behind what the store really holds.
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
