import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { checkRow, columnsChecksum } from './checksum.js';
import type { Epoch } from './log/epochs.js';

/** What the writing thread is told of the file. */
export interface StoreFile {
  readonly file: string;
  /** Of the log that the store is made from, oldest first; none for a store without a log. */
  readonly epochs: readonly Epoch[];
}

/** The log that a store was made from, and how much of that log is in it. */
interface Origin {
  /** Id of the log's oldest epoch. */
  readonly log: string;
  /** Id of the epoch of the newest record that is in the store. */
  readonly epoch: string;
  /** The offset after that record. */
  readonly next: number;
}

/**
 * Whether a store belongs to a log: `ahead` when the store has records that the log lacks, `foreign` when it was made from another log,
 * `unknown` when the store does not say what it was made from, as stores of older versions.
 */
export type Relation = 'fits' | 'foreign' | 'ahead' | 'unknown';

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

/** How the store in an open file belongs to a log with these epochs. @throws TelemetryError `store_corrupt`. */
export function relationOf(db: DatabaseSync, epochs: readonly Epoch[]): Relation {
  const tables = tablesOf(db);
  const origin = tables.includes('origin') ? read(db) : undefined;
  if (!origin) return tables.every((name) => isEmpty(db, name)) ? 'fits' : 'unknown';
  if (origin.log !== epochs[0]!.id) return 'foreign';
  const at = epochs.findIndex(({ id }) => id === origin.epoch);
  return at >= 0 && origin.next <= (epochs[at + 1]?.start ?? 0) ? 'fits' : 'ahead';
}

function tablesOf(db: DatabaseSync): string[] {
  const rows = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  return rows.map(({ name }) => String(name));
}

const isEmpty = (db: DatabaseSync, table: string): boolean => db.prepare(`SELECT 1 FROM "${table}" LIMIT 1`).get() === undefined;

function read(db: DatabaseSync): Origin | undefined {
  const row = db.prepare('SELECT log, epoch, next, crc FROM origin').get() as (Origin & { readonly crc: number }) | undefined;
  if (row) checkRow('where it was made from', row.crc, row.log, row.epoch, row.next);
  return row;
}
