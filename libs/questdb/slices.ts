import { bucketStartMs, intervalMs, maxTimestampMs, type Window } from '#model';
import { maxPartitions } from './questions.js';
import type { Sql } from './sql.js';
import type { Tables } from './tables.js';

const freshMs = 60_000;
/** A window that cannot hold too many partitions of an hour is not cut. */
const shortMs = maxPartitions * 3_600_000;

const endOfTimeMs = maxTimestampMs + 1;

/** Cuts windows so that no question opens too many partitions at once. */
export class Slices {
  readonly #cuts = new Map<keyof Tables, { readonly cutsMs: Promise<number[]>; readonly askedMs: number }>();

  constructor(
    private readonly sql: Sql,
    private readonly tables: Tables,
  ) {}

  /** In order of time, without a gap. */
  async of(table: keyof Tables, { startMs, endMs }: Window): Promise<Window[]> {
    const from = Math.max(0, Math.ceil(startMs));
    const to = Math.min(endOfTimeMs, Math.ceil(endMs));
    if (from >= to) return [];
    if (to - from <= shortMs) return [{ startMs: from, endMs: to }];
    const cutsMs = (await this.#cutsOf(table)).filter((cutMs) => cutMs > from && cutMs < to);
    return [...cutsMs, to].map((end, at) => ({ startMs: at === 0 ? from : cutsMs[at - 1]!, endMs: end }));
  }

  /** Starts of days, so that no bucket is cut in two. Partitions that have come since only make a slice a little larger. */
  #cutsOf(table: keyof Tables): Promise<number[]> {
    const known = this.#cuts.get(table);
    if (known && performance.now() - known.askedMs < freshMs) return known.cutsMs;
    const cutsMs = this.#ask(table);
    this.#cuts.set(table, { cutsMs, askedMs: performance.now() });
    cutsMs.catch(() => this.#cuts.delete(table));
    return cutsMs;
  }

  async #ask(table: keyof Tables): Promise<number[]> {
    const rows = await this.sql.rows<[firstMs: number | null]>(
      `SELECT minTimestamp::long / 1000 AS first FROM table_partitions('${this.tables[table]}') ORDER BY first`,
    );
    const starts = rows.flatMap(([firstMs]) => (firstMs === null ? [] : bucketStartMs(firstMs, intervalMs['1d'])));
    return starts.filter((_, at) => at > 0 && at % maxPartitions === 0);
  }
}

/** What of a window is at or after a time. */
export const since = ({ startMs, endMs }: Window, fromMs: number): Window => ({ startMs: Math.max(startMs, fromMs), endMs });

/** A window as values for `ts >= … AND ts < …`: microseconds, of which a double has too few digits. */
export function sqlWindow({ startMs, endMs }: Window): [string, string] {
  return [`${Math.max(0, Math.ceil(startMs))}000`, `${Math.min(endOfTimeMs, Math.ceil(endMs))}000`];
}
