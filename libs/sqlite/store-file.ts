import { DatabaseSync } from 'node:sqlite';

/**
 * Opens the file that the stores share, for its one writer. A commit is durable once it returns (FULL syncs the write-ahead file at each
 * commit): a group's offset moves only behind what the store really holds.
 */
export function openStoreForWriting(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  db.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA busy_timeout = 10000');
  return db;
}

/** Opens it for one of its readers, each of which sees what was committed when its transaction began. */
export function openStoreForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  db.exec('PRAGMA busy_timeout = 10000');
  return db;
}
