import { setTimeout as pause } from 'node:timers/promises';
import type { SqlRow, Sql, Value } from './sql.js';
import type { Tables } from './tables.js';

/** How long an answer without rows waits until the tables show what they have accepted. Tables further behind are so for every reader. */
const maxMs = 5000;
const pauseMs = { min: 2, max: 50 };

/**
 * Questions that look names up: of an organization, a source, a metric. QuestDB, up to 9.4 at least, does not find some of the names that a
 * table has while the table takes in new ones: its dictionary keeps names of one hash in blocks of four, and when a new name begins a block
 * that a reader does not see yet, this reader misses the last name of the block before (`ConcurrentBitmapIndexFwdReader`). A question for it
 * then has no rows, until the new name is committed; and that name is not missed again. So an answer without rows is asked for again when
 * the tables show what they had accepted.
 */
export class Lookups {
  readonly #tables: readonly string[];

  constructor(
    private readonly sql: Pick<Sql, 'rows'>,
    tables: Tables,
  ) {
    this.#tables = Object.values(tables);
  }

  /** As `Sql.rows`, for a question about tables of this generation. */
  async rows<R extends SqlRow = SqlRow>(text: string, values: readonly Value[]): Promise<R[]> {
    const rows = await this.sql.rows<R>(text, values);
    if (rows.length > 0) return rows;
    const words = new Set(text.split(/\s+/));
    await this.#settled(this.#tables.filter((table) => words.has(table)));
    return this.sql.rows<R>(text, values);
  }

  /** Resolves when these tables show what they had accepted at the call; a suspended one shows nothing more. */
  async #settled(tables: readonly string[]): Promise<void> {
    const accepted = await this.#behind(tables);
    const beganMs = performance.now();
    for (let left = accepted; left.size > 0 && performance.now() - beganMs < maxMs;) {
      await pause(Math.min(pauseMs.max, Math.max(pauseMs.min, (performance.now() - beganMs) / 4)));
      const now = await this.#behind(tables);
      left = new Map([...left].filter(([table, { accepted: until }]) => (now.get(table)?.shown ?? Infinity) < until));
    }
  }

  /** The tables that have accepted more than they show. */
  async #behind(tables: readonly string[]): Promise<Map<string, { readonly shown: number; readonly accepted: number }>> {
    const names = tables.map((table) => `'${table}'`).join();
    const rows = await this.sql.rows<[table: string, shown: number, accepted: number]>(
      `SELECT name, writerTxn, sequencerTxn FROM wal_tables() WHERE name IN (${names}) AND writerTxn < sequencerTxn AND NOT suspended`,
    );
    return new Map(rows.map(([table, shown, accepted]) => [table, { shown, accepted }]));
  }
}
