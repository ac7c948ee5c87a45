import type { DatabaseSync } from 'node:sqlite';

/** Runs `work` in a transaction, which is rolled back when `work` throws. */
export function transaction<T>(db: DatabaseSync, work: () => T): T {
  db.exec('BEGIN IMMEDIATE');
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (cause) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw cause;
  }
}

/** Runs `work` in a transaction whose commit does not wait for the disk; `makeDurable` waits for all such commits at once. */
export function unsynced<T>(db: DatabaseSync, work: () => T): T {
  db.exec('PRAGMA synchronous = NORMAL');
  try {
    return transaction(db, work);
  } finally {
    db.exec('PRAGMA synchronous = FULL');
  }
}

/**
 * Makes all that was committed on a WAL database survive a power cut: a commit that changes nothing is written and synced, and with it
 * the whole write-ahead file before it. The connection must be at `synchronous = FULL`.
 */
export function makeDurable(db: DatabaseSync): void {
  const { user_version: same } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  db.exec(`PRAGMA user_version = ${same}`);
}
