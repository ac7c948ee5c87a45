import { randomBytes } from 'node:crypto';
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { rowChecksum } from '../checksum.js';
import { damaged } from './fault.js';

/** The records that were appended between one opening of the log and the next: those from `start` on, up to the next epoch's start. */
export interface Epoch {
  /** Offset of its first record. */
  readonly start: number;
  /** Random, so that no two logs share one: it tells whether a store was made from this log. */
  readonly id: string;
}

/** The history of a log. Two logs that share the epoch of a record are the same log up to that record. An opening that appends nothing leaves no epoch. */
export class Epochs {
  readonly #insert: StatementSync;
  readonly #saved: readonly Epoch[];
  readonly #current: Epoch;
  #isSaved = false;

  /** @param head the offset of the next record. */
  constructor(db: DatabaseSync, head: number) {
    db.exec('CREATE TABLE IF NOT EXISTS epoch(start INTEGER PRIMARY KEY, id TEXT NOT NULL, crc INT NOT NULL)');
    this.#insert = db.prepare('INSERT INTO epoch(start, id, crc) VALUES(?, ?, ?)');
    // Older versions wrote no epochs.
    if (head > 0 && read(db).length === 0) this.#save(begun(0));
    this.#saved = read(db);
    this.#current = begun(head);
  }

  /** Oldest first; the last one begins at the head. */
  get all(): readonly Epoch[] {
    return [...this.#saved, this.#current];
  }

  /** Makes this opening's epoch part of the log, in the transaction of its first record. False when the epoch is part of the log already. */
  append(): boolean {
    if (this.#isSaved) return false;
    this.#save(this.#current);
    return (this.#isSaved = true);
  }

  /** To be called after a rollback, with the head that the log has again. */
  forget(head: number): void {
    this.#isSaved &&= head > this.#current.start;
  }

  #save({ start, id }: Epoch): void {
    this.#insert.run(start, id, rowChecksum(id, start));
  }
}

const begun = (start: number): Epoch => ({ start, id: randomBytes(8).toString('hex') });

function read(db: DatabaseSync): Epoch[] {
  const rows = db.prepare('SELECT start, id, crc FROM epoch ORDER BY start').all() as unknown as (Epoch & { readonly crc: number })[];
  return rows.map(({ start, id, crc }) => {
    if (typeof id !== 'string' || crc !== rowChecksum(id, start)) throw damaged(`the epoch from offset ${start} fails its checksum`);
    return { start, id };
  });
}
