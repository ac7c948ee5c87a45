import type { Sql } from './sql.js';

const waitMs = 30_000;

/** Why a table stands still. */
export interface Suspension {
  readonly table: string;
  readonly reason: string;
}

/** Follows what is accepted until readers see it. */
export class Visibility {
  #suspended: readonly Suspension[] = [];

  /** @param sql of its own: a question here may take long. */
  constructor(private readonly sql: Sql) {}

  /** Tables that took rows without showing them when they were last looked at. */
  get suspended(): readonly Suspension[] {
    return this.#suspended;
  }

  /** Resolves when readers see what the tables had accepted at the call. Rejects `store_unavailable`. */
  async of(tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.#of(table);
  }

  async #of(table: string): Promise<void> {
    try {
      await this.sql.rows(`SELECT wait_wal_table('${table}')`, [], waitMs);
      this.#suspended = this.#suspended.filter((suspension) => suspension.table !== table);
    } catch (cause) {
      await this.#look(table).catch(() => undefined);
      throw cause;
    }
  }

  /** Whether the table is suspended; then it is resumed. */
  async #look(table: string): Promise<void> {
    const [found] = await this.sql.rows<[string, string]>(
      `SELECT errorTag, errorMessage FROM wal_tables() WHERE suspended AND name = '${table}'`,
    );
    const others = this.#suspended.filter((suspension) => suspension.table !== table);
    this.#suspended = found ? [...others, { table, reason: found.join(' ').trim() || 'no reason is given' }] : others;
    if (found) await this.sql.rows(`ALTER TABLE ${table} RESUME WAL`);
  }
}
