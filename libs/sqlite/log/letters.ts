import type { DatabaseSync, StatementSync } from 'node:sqlite';

/** The place of a dead letter. */
export interface LetterOffset {
  /** The topic of dead letters that it is in. */
  readonly topic: string;
  readonly offset: number;
}

/**
 * Where the dead letters are, so that counting and reading them needs no pass over the log. A version of the server that does not know this table
 * appends letters that are missing here, so the epochs whose letters are all noted are kept too.
 */
export class Letters {
  readonly #insert: StatementSync;
  readonly #next: StatementSync;
  readonly #count: StatementSync;
  readonly #unnoted: StatementSync;
  readonly #noteEpochs: StatementSync;

  /** @param db the log's file, in which the table of epochs exists already. */
  constructor(db: DatabaseSync) {
    db.exec(`
      CREATE TABLE IF NOT EXISTS letter(topic TEXT, at INT, PRIMARY KEY(topic, at)) WITHOUT ROWID;
      CREATE TABLE IF NOT EXISTS noted(epoch INTEGER PRIMARY KEY)`);
    this.#insert = db.prepare('INSERT OR IGNORE INTO letter(topic, at) VALUES(?, ?)');
    this.#next = db.prepare('SELECT min(at) AS offset FROM letter WHERE topic = ? AND at >= ?');
    this.#count = db.prepare('SELECT count(*) AS letters FROM letter WHERE topic = ? AND at >= ?');
    this.#unnoted = db.prepare('SELECT start FROM epoch WHERE start NOT IN (SELECT epoch FROM noted) ORDER BY start LIMIT 1');
    this.#noteEpochs = db.prepare('INSERT OR IGNORE INTO noted(epoch) SELECT start FROM epoch');
  }

  /** The offset from which on letters may be missing here; undefined when all are noted. */
  unnotedFrom(): number | undefined {
    return (this.#unnoted.get() as { readonly start: number } | undefined)?.start;
  }

  /** Call it when the letters of all epochs are noted, and with the first record of each epoch. */
  noteEpochs(): void {
    this.#noteEpochs.run();
  }

  add({ topic, offset }: LetterOffset): void {
    this.#insert.run(topic, offset);
  }

  /** Offset of the first letter of some topics, from an offset on; `Infinity` when there is none. */
  next(topics: readonly string[], from: number): number {
    return Math.min(...topics.map((topic) => (this.#next.get(topic, from) as { readonly offset: number | null }).offset ?? Infinity));
  }

  /** How many letters a topic has from an offset on. */
  count(topic: string, from: number): number {
    return (this.#count.get(topic, from) as { readonly letters: number }).letters;
  }
}
