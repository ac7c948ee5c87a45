import { DatabaseError } from 'pg';
import { keptFromTheBeginning, type KeptFrom, type KeptKind, keptKinds, laterOf } from '#stores';
import type { Sql } from './sql.js';

/** For so long what was read is taken to be so: what lies before a boundary is dropped minutes after the boundary has moved. */
const freshMs = 30_000;

/**
 * From when on the tables of a generation are kept. It stands in a table beside them, as a row for each time that a boundary has moved, of
 * which the latest holds: so boundaries never move back, whoever moves them and in whatever order.
 */
export class Kept {
  #known = keptFromTheBeginning;
  #askedMs = -Infinity;
  #asking: Promise<KeptFrom> | undefined;

  constructor(
    private readonly sql: Pick<Sql, 'rows'>,
    private readonly table: string,
  ) {}

  /** As far as this process knows. */
  get known(): KeptFrom {
    return this.#known;
  }

  /** As it was less than half a minute ago. Rejects `store_unavailable`. */
  async fresh(): Promise<KeptFrom> {
    if (performance.now() - this.#askedMs < freshMs) return this.#known;
    this.#asking ??= this.now().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  /** As it is. Rejects `store_unavailable`. */
  async now(): Promise<KeptFrom> {
    const askedMs = performance.now();
    const rows = await this.sql
      .rows<[what: KeptKind, fromMs: number]>(`SELECT what, max(ts)::long / 1000 FROM ${this.table} GROUP BY what`)
      .catch(noneWhereNothingHasGone);
    this.#known = laterOf(this.#known, Object.fromEntries(rows));
    this.#askedMs = Math.max(this.#askedMs, askedMs);
    return this.#known;
  }
}

/** The statement that moves boundaries to these moments; undefined when none of them is later. */
export function moving(table: string, before: KeptFrom, to: Partial<KeptFrom>): string | undefined {
  const rows = keptKinds
    .filter((what) => (to[what] ?? 0) > before[what])
    .map((what) => `('${new Date(to[what]!).toISOString()}'::timestamp, '${what}')`);
  return rows.length > 0 ? `INSERT INTO ${table} (ts, what) VALUES ${rows.join(', ')}` : undefined;
}

/** A generation that an earlier version made has no such table, until a boundary moves. */
export function noneWhereNothingHasGone(cause: unknown): [] {
  if (cause instanceof Error && cause.cause instanceof DatabaseError && /does not exist/.test(cause.cause.message)) return [];
  throw cause;
}
