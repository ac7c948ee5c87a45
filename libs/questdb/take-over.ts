import { maxTimestampMs, type Window } from '#model';
import type { KeptFrom } from '#stores';
import { since, sqlWindow } from './slices.js';
import type { Sql } from './sql.js';
import { isThere, type Layout, levels, type Tables } from './tables.js';

const names = 'ts, org, source, metric';
const buckets = `${names}, min, max, sum, count`;
const allTime: Window = { startMs: 0, endMs: maxTimestampMs + 1 };

/** What is copied of a table. */
interface Part {
  readonly table: keyof Tables;
  readonly columns: string;
  /** As the other generation gives them; as they are called when left out. */
  readonly selected?: string;
  readonly window: Window;
}

/** What of a generation is not to be made again: the buckets whose points are gone, or everything. */
export function partsOf(kept: KeptFrom, { arrivalsAreKeys }: Layout, everything: boolean): readonly Part[] {
  const old = levels.map(({ table, interval }): Part => {
    const endMs = everything ? allTime.endMs : kept.raw;
    return { table, columns: buckets, window: { startMs: kept[interval], endMs } };
  });
  const metrics: Part = { table: 'metrics', columns: names, window: allTime };
  const events = 'ts, org, source, name, value, tags, digest, place, received';
  const rest: readonly Part[] = [
    { table: 'points', columns: `${names}, value, tags`, window: since(allTime, kept.raw) },
    {
      table: 'events',
      columns: events,
      selected: arrivalsAreKeys ? events : events.replace('received', '0'),
      window: since(allTime, kept.events),
    },
  ];
  const parts = [...old, metrics, ...(everything ? rest : [])];
  return kept.raw > 0 || everything ? parts.filter(({ window }) => window.startMs < window.endMs) : [];
}

/** Copies parts of the tables of a generation, a partition at a time. Rows that are there already are replaced. */
export async function copy(sql: Sql, from: Tables, to: Tables, parts: readonly Part[]): Promise<void> {
  for (const { table, columns, selected = columns, window } of parts) {
    for (const { startMs, endMs } of await partitionsOf(sql, from[table])) {
      const both = { startMs: Math.max(startMs, window.startMs), endMs: Math.min(endMs, window.endMs) };
      if (both.startMs >= both.endMs) continue;
      const text = `INSERT INTO ${to[table]} (${columns}) SELECT ${selected} FROM ${from[table]} WHERE ts >= $1 AND ts < $2 AND ${isThere}`;
      await sql.patientRows(text, sqlWindow(both));
    }
  }
}

/** Windows that have a partition each. */
async function partitionsOf(sql: Sql, table: string): Promise<Window[]> {
  const rows = await sql.patientRows<[firstMs: number]>(
    `SELECT minTimestamp::long / 1000 AS first FROM table_partitions('${table}') WHERE minTimestamp IS NOT NULL ORDER BY first`,
  );
  return rows.map(([startMs], at) => ({ startMs, endMs: rows[at + 1]?.[0] ?? allTime.endMs }));
}
