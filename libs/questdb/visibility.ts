import { setTimeout as pause } from 'node:timers/promises';
import { TelemetryError } from '#model';
import type { Sql } from './sql.js';

const waitMs = 30_000;
/** The next look comes when a quarter more of the time has gone by. */
const pauseMs = { least: 2, most: 100 };
/** So long a suspension is told of at least, however soon the table goes on. */
const toldMs = 5000;

/** Why a table stands still. */
export interface Suspension {
  readonly table: string;
  readonly reason: string;
}

/** Numbers of transactions: what a table has accepted, and what of it readers see. */
interface Progress {
  readonly accepted: number;
  readonly shown: number;
}

/**
 * Follows what is accepted until readers see it. It looks again and again: QuestDB's own function for it holds one of the few threads that
 * take connections, requests and questions, so that two tables with much to apply would keep everybody out.
 */
export class Visibility {
  readonly #suspended = new Map<string, { readonly suspension: Suspension; readonly seenMs: number; isOver: boolean }>();

  constructor(private readonly sql: Sql) {}

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
    for (const table of tables) await this.#of(table, check);
  }

  async #of(table: string, check: () => void): Promise<void> {
    const beganMs = performance.now();
    const { accepted, ...first } = await this.#look(table);
    for (let { shown } = first; shown < accepted; { shown } = await this.#look(table)) {
      const ms = performance.now() - beganMs;
      if (ms > waitMs) throw new TelemetryError('store_unavailable', `QuestDB has not applied yet what ${table} took.`, { retryAfterS: 1 });
      await pause(Math.min(pauseMs.most, Math.max(pauseMs.least, ms / 4)));
      check();
    }
    const told = this.#suspended.get(table);
    if (told) told.isOver = true;
  }

  /** Rejects when the table is suspended, which is resumed, and when there is none. */
  async #look(table: string): Promise<Progress> {
    const [found] = await this.sql.rows<[shown: number, accepted: number, suspended: string, tag: string, message: string]>(
      `SELECT writerTxn, sequencerTxn, suspended, errorTag, errorMessage FROM wal_tables() WHERE name = '${table}'`,
    );
    if (!found) throw new TelemetryError('store_unavailable', `QuestDB has no table ${table}.`);
    const [shown, accepted, suspended, tag, message] = found;
    if (suspended !== 't') return { accepted, shown };
    const reason = [tag, message].join(' ').trim() || 'no reason is given';
    this.#suspended.set(table, { suspension: { table, reason }, seenMs: performance.now(), isOver: false });
    await this.sql.rows(`ALTER TABLE ${table} RESUME WAL`);
    throw new TelemetryError('store_unavailable', `QuestDB has suspended ${table}.`, { retryAfterS: 1 });
  }
}
