import { setTimeout as pause } from 'node:timers/promises';
import { TelemetryError } from '#model';
import type { Sql } from './sql.js';

const waitMs = 30_000;
/** Pause before the next look: a quarter of the time waited so far, within these bounds. */
const pauseMs = { min: 2, max: 100 };
/** The second look waits until so much of the time has passed that the last wait took, but not for longer than this: the last one may have been long by accident. */
const secondLook = { part: 0.75, maxMs: 250 };
/** A suspension is reported for at least so long, even when the table goes on sooner. */
const toldMs = 5000;

/** Why a table stands still. */
export interface Suspension {
  readonly table: string;
  readonly reason: string;
}

/** Numbers of transactions: what a table has accepted, and what of it readers see. */
interface Transactions {
  readonly table: string;
  readonly accepted: number;
  readonly shown: number;
}

/**
 * The pause before the next look. A wait mostly takes as long as the one before it, and each look costs both sides something.
 *
 * @param waitedMs milliseconds since the first look.
 * @param lastMs milliseconds that the wait before this one took.
 */
export function pauseAfter(waitedMs: number, lastMs: number): number {
  const quarter = Math.min(pauseMs.max, Math.max(pauseMs.min, waitedMs / 4));
  return Math.max(quarter, Math.min(secondLook.maxMs, secondLook.part * lastMs) - waitedMs);
}

/**
 * Follows what is accepted until readers see it. It looks again and again: QuestDB's own function for it holds one of the few threads that
 * take connections, requests and questions, so that two tables with much to apply would keep everybody out.
 */
export class Visibility {
  readonly #suspended = new Map<string, { readonly suspension: Suspension; readonly seenMs: number; isOver: boolean }>();

  /** How long the last wait took, by the first of the tables that it was for. */
  readonly #lastMs = new Map<string, number>();

  constructor(private readonly sql: Pick<Sql, 'rows'>) {}

  /** Tables that took rows without showing them when they were last looked at, or a moment ago. */
  get suspended(): readonly Suspension[] {
    const sinceMs = performance.now() - toldMs;
    return [...this.#suspended.values()].filter(({ isOver, seenMs }) => !isOver || seenMs > sinceMs).map(({ suspension }) => suspension);
  }

  /**
   * Resolves when readers see what the tables had accepted at the call. Rejects `store_unavailable`.
   * @param check throws when nobody waits any more.
   */
  async of(tables: readonly string[], check: () => void): Promise<void> {
    const beganMs = performance.now();
    let behind = (await this.#look(tables)).filter(({ shown, accepted }) => shown < accepted);
    while (behind.length > 0) {
      const names = behind.map(({ table }) => table);
      const ms = performance.now() - beganMs;
      if (ms > waitMs)
        throw new TelemetryError('store_unavailable', `QuestDB has not applied yet what ${names.join()} took.`, { retryAfterS: 1 });
      await pause(pauseAfter(ms, this.#lastMs.get(tables[0]!) ?? 0));
      check();
      const shown = new Map((await this.#look(names)).map((progress) => [progress.table, progress.shown]));
      behind = behind.filter(({ table, accepted }) => shown.get(table)! < accepted);
    }
    this.#lastMs.set(tables[0]!, performance.now() - beganMs);
    for (const table of tables) {
      const told = this.#suspended.get(table);
      if (told) told.isOver = true;
    }
  }

  /** All tables in one question. Rejects when one is suspended, which is resumed, and when one is missing. */
  async #look(tables: readonly string[]): Promise<Transactions[]> {
    const rows = await this.sql.rows<[table: string, shown: number, accepted: number, suspended: string, tag: string, message: string]>(
      `SELECT name, writerTxn, sequencerTxn, suspended, errorTag, errorMessage FROM wal_tables()
       WHERE name IN (${tables.map((table) => `'${table}'`).join()})`,
    );
    const found = rows.map(([table]) => table);
    const missing = tables.filter((table) => !found.includes(table));
    if (missing.length > 0) throw new TelemetryError('store_unavailable', `QuestDB has no table ${missing.join()}.`);
    const stopped = rows.filter(([, , , suspended]) => suspended === 't');
    for (const [table, , , , tag, message] of stopped) await this.#resume(table, [tag, message].join(' ').trim() || 'no reason is given');
    if (stopped.length === 0) return rows.map(([table, shown, accepted]) => ({ table, shown, accepted }));
    const names = stopped.map(([table]) => table).join();
    throw new TelemetryError('store_unavailable', `QuestDB has suspended ${names}.`, { retryAfterS: 1 });
  }

  async #resume(table: string, reason: string): Promise<void> {
    this.#suspended.set(table, { suspension: { table, reason }, seenMs: performance.now(), isOver: false });
    await this.sql.rows(`ALTER TABLE ${table} RESUME WAL`);
  }
}
