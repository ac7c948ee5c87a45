import { compareUtf8, type Window } from '#model';
import type { Layout } from './layout.js';
import { sqlWindow } from './slices.js';
import type { Sql } from './sql.js';
import { rollupTables, type Tables } from './tables.js';

const pageRows = 20_000;
const endMs = 253_402_300_800_000;

/** One time in one table. */
export interface Moment {
  readonly table: keyof Tables;
  readonly timestampMs: number;
}

/** Null only in rows that somebody else has written. */
type Name = string | null;

/**
 * A row as it can be compared: time in Unix milliseconds, organization, source, metric or name, and what follows for its table: of a point
 * its tags first, of an event its digest.
 */
export interface DumpedRow {
  readonly table: keyof Tables;
  readonly row: readonly [timestampMs: number, org: Name, source: Name, name: Name, ...rest: unknown[]];
}

/** Tables whose rows are told apart by the column behind the name too. */
const withFifth: ReadonlySet<keyof Tables> = new Set(['points', 'events']);

/** What names a row of a table, and the columns that follow. */
const columns: readonly (readonly [table: keyof Tables, name: 'metric' | 'name', rest: string])[] = [
  ['points', 'metric', 'tags, value'],
  ...rollupTables.map((table) => [table, 'metric', 'min, max, sum, count'] as const),
  ['metrics', 'metric', '1'],
  ['events', 'name', 'digest, value, tags, received, place'],
];

/**
 * All rows of a generation: points, rollups, names of metrics, events; each table by time, organization, source and name in UTF-8 byte
 * order, and points by their tags. Of an event that came in several bodies only the row with the least (receive time, place). The rows of one time are held at once.
 *
 * @param at only the rows of this moment.
 */
export async function* dump(sql: Sql, tables: Tables, layout: Layout, at?: Moment): AsyncGenerator<DumpedRow> {
  const window = at ? { startMs: at.timestampMs, endMs: at.timestampMs + 1 } : { startMs: 0, endMs };
  for (const [table, name, rest] of columns) {
    if (at && at.table !== table) continue;
    const cells = layout.arrivalsAreKeys ? rest : rest.replace('received', 'null');
    const select = `SELECT ts::long / 1000, org, source, ${name}, ${cells} FROM ${tables[table]} WHERE ts >= $1 AND ts < $2`;
    for await (const rows of pages(sql, select, window)) {
      const sorted = rows.sort(compareRows);
      for (const row of table === 'events' ? withFirstArrival(sorted) : sorted) yield { table, row };
    }
  }
}

/** Rows of whole milliseconds, so that a page can be ordered by itself. */
async function* pages(sql: Sql, select: string, window: Window): AsyncGenerator<DumpedRow['row'][]> {
  const { endMs: toMs } = window;
  for (let fromMs = window.startMs; fromMs < toMs;) {
    const some = sqlWindow({ startMs: fromMs, endMs: toMs });
    const rows = await sql.patientRows<DumpedRow['row']>(`${select} ORDER BY ts LIMIT ${pageRows}`, some);
    if (rows.length < pageRows) {
      yield rows;
      return;
    }
    const lastMs = rows.at(-1)![0];
    const whole = rows.filter(([timestampMs]) => timestampMs < lastMs);
    yield whole.length > 0 ? whole : await sql.patientRows<DumpedRow['row']>(select, sqlWindow({ startMs: lastMs, endMs: lastMs + 1 }));
    fromMs = whole.length > 0 ? lastMs : lastMs + 1;
  }
}

/** What a row stands for: at one place there is one row at most. */
export const placeOf = ({ table, row }: DumpedRow): readonly unknown[] => [table, ...row.slice(0, withFifth.has(table) ? 5 : 4)];

/** The order of places in a dump: 0 for rows that stand for the same thing. */
export function comparePlaces(a: DumpedRow, b: DumpedRow): number {
  if (a.table !== b.table) return rankOf(a.table) - rankOf(b.table);
  return compareKeys(a.row, b.row) || (withFifth.has(a.table) ? compareFifths(a.row, b.row) : 0);
}

const rankOf = (table: keyof Tables): number => columns.findIndex(([name]) => name === table);

/** Events that are equal in all else: by receive time and place. */
function compareRows(a: DumpedRow['row'], b: DumpedRow['row']): number {
  return compareKeys(a, b) || compareFifths(a, b) || Number(a.at(-2)) - Number(b.at(-2)) || Number(a.at(-1)) - Number(b.at(-1));
}

function compareKeys(a: DumpedRow['row'], b: DumpedRow['row']): number {
  return a[0] - b[0] || compareNames(a[1], b[1]) || compareNames(a[2], b[2]) || compareNames(a[3], b[3]);
}

const compareNames = (a: Name, b: Name): number => compareUtf8(a ?? '', b ?? '');

const compareFifths = (a: DumpedRow['row'], b: DumpedRow['row']): number => compareUtf8(fifth(a), fifth(b));
const fifth = (row: DumpedRow['row']): string => String((row[4] as Name | number) ?? '');

function withFirstArrival(sorted: readonly DumpedRow['row'][]): DumpedRow['row'][] {
  const isSame = (a: DumpedRow['row'], b: DumpedRow['row'] | undefined): boolean =>
    b !== undefined && [0, 1, 2, 3, 4].every((column) => a[column] === b[column]);
  return sorted.filter((row, at) => !isSame(row, sorted[at - 1]));
}
