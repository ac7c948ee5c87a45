import type { DatabaseSync, StatementSync } from 'node:sqlite';

const mostRemembered = 100_000;

/** Small numbers for names, from a table `(id, …columns)`; the ones in use are remembered. */
export class NameIds {
  readonly #known = new Map<string, number>();
  readonly #find: StatementSync;
  readonly #add: StatementSync;

  constructor(db: DatabaseSync, table: string, columns: readonly string[]) {
    const places = columns.map(() => '?').join(', ');
    this.#find = db.prepare(`SELECT id FROM ${table} WHERE ${columns.map((column) => `${column} = ?`).join(' AND ')}`);
    this.#add = db.prepare(`INSERT INTO ${table}(${columns.join(', ')}) VALUES (${places})`);
  }

  /** The id of a name, given at its first use. Names hold no NUL. */
  idOf(...name: string[]): number {
    const key = name.join('\0');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size === mostRemembered) this.#known.clear();
    const row = this.#find.get(...name) as { id: number } | undefined;
    const id = row?.id ?? Number(this.#add.run(...name).lastInsertRowid);
    this.#known.set(key, id);
    return id;
  }

  /** To be called when a transaction that may have given ids was rolled back. */
  forget(): void {
    this.#known.clear();
  }
}
