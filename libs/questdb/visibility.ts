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

  /** Tables that take rows without showing them, as of the last look. */
  get suspended(): readonly Suspension[] {
    return this.#suspended;
  }

  /** Resolves when readers see what the tables had accepted at the call. Rejects `store_unavailable`. */
  async of(tables: readonly string[]): Promise<void> {
    for (const table of tables) await this.#of(table);
  }

  /** Looks for suspended tables among these and resumes them. */
  async look(tables: readonly string[]): Promise<void> {
    const rows = await this.sql.rows<[string, string, string]>('SELECT name, errorTag, errorMessage FROM wal_tables() WHERE suspended');
    const names = new Set(tables);
    const found = rows.map(([table, tag, message]) => ({ table, reason: `${tag} ${message}`.trim() }));
    this.#suspended = found.filter(({ table }) => names.has(table));
    for (const { table } of this.#suspended) await this.sql.rows(`ALTER TABLE ${table} RESUME WAL`);
  }

  async #of(table: string): Promise<void> {
    try {
      await this.sql.rows(`SELECT wait_wal_table('${table}')`, [], waitMs);
    } catch (cause) {
      await this.look([table]).catch(() => undefined);
      throw cause;
    }
  }
}
