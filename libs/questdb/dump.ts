import { compareUtf8 } from '#model';
import { sqlWindow } from './slices.js';
import type { Sql } from './sql.js';
import { rollupTables, type Tables } from './tables.js';

const pageRows = 20_000;
const endMs = 253_402_300_800_000;
const slowMs = 60_000;

/** A row as it can be compared: time in Unix milliseconds, organization, source, metric or name, and what follows for its table. */
export interface DumpedRow {
  readonly table: keyof Tables;
  readonly row: readonly [timestampMs: number, org: string, source: string, name: string, ...rest: unknown[]];
}

/** What names a row of a table, and the columns that follow. */
const columns: readonly (readonly [table: keyof Tables, name: 'metric' | 'name', rest: string])[] = [
  ['points', 'metric', 'value, tags'],
  ...rollupTables.map((table) => [table, 'metric', 'min, max, sum, count'] as const),
  ['metrics', 'metric', '1'],
  ['events', 'name', 'digest, value, tags, place'],
];

/**
 * All rows of a generation: points, rollups, names of metrics, events; each table by time, organization, source and name in UTF-8 byte
 * order. Of an event that came in several bodies only the row with the least place.
 */
export async function* dump(sql: Sql, tables: Tables): AsyncGenerator<DumpedRow> {
  for (const [table, name, rest] of columns) {
    const select = `SELECT ts::long / 1000, org, source, ${name}, ${rest} FROM ${tables[table]} WHERE ts >= $1 AND ts < $2`;
    for await (const rows of pages(sql, select)) {
      const sorted = rows.sort(compareRows);
      for (const row of table === 'events' ? withLeastPlace(sorted) : sorted) yield { table, row };
    }
  }
}

/** Rows of whole milliseconds, so that a page can be ordered by itself. */
async function* pages(sql: Sql, select: string): AsyncGenerator<DumpedRow['row'][]> {
  for (let fromMs = 0; fromMs < endMs;) {
    const rows = await sql.rows<DumpedRow['row']>(`${select} ORDER BY ts LIMIT ${pageRows}`, sqlWindow({ startMs: fromMs, endMs }), slowMs);
    if (rows.length < pageRows) {
      yield rows;
      return;
    }
    const lastMs = rows.at(-1)![0];
    const whole = rows.filter(([timestampMs]) => timestampMs < lastMs);
    yield whole.length > 0 ? whole : await sql.rows<DumpedRow['row']>(select, sqlWindow({ startMs: lastMs, endMs: lastMs + 1 }), slowMs);
    fromMs = whole.length > 0 ? lastMs : lastMs + 1;
  }
}

function compareRows(a: DumpedRow['row'], b: DumpedRow['row']): number {
  return a[0] - b[0] || compareUtf8(a[1], b[1]) || compareUtf8(a[2], b[2]) || compareUtf8(a[3], b[3]) || compareRest(a, b);
}

/** Events of one time and name: by digest, then by place. */
function compareRest(a: DumpedRow['row'], b: DumpedRow['row']): number {
  const [digest, other] = [String(a[4]), String(b[4])];
  return digest === other ? Number(a.at(-1)) - Number(b.at(-1)) : digest < other ? -1 : 1;
}

function withLeastPlace(sorted: readonly DumpedRow['row'][]): DumpedRow['row'][] {
  const isSame = (a: DumpedRow['row'], b: DumpedRow['row'] | undefined): boolean =>
    b !== undefined && [0, 1, 2, 3, 4].every((column) => a[column] === b[column]);
  return sorted.filter((row, at) => !isSame(row, sorted[at - 1]));
}
