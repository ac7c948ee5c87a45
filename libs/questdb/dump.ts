import { maxTimestampMs, type Window } from '#model';
import { compareRows, type KeptFrom, type Moment, type StoredRow } from '#stores';
import { since, sqlWindow } from './slices.js';
import type { Sql } from './sql.js';
import { isThere, type Layout, levels, type Tables } from './tables.js';

const pageRows = 20_000;

/** What the rows of a table are, the column with the name of the metric, and the columns that follow; in the order of a dump. */
const contents: readonly (readonly [what: StoredRow['what'], table: keyof Tables, metric: 'metric' | 'name', rest: string])[] = [
  ['raw', 'points', 'metric', 'tags, value'],
  ...levels.map(({ interval, table }) => [interval, table, 'metric', 'min, max, sum, count'] as const),
  ['metric names', 'metrics', 'metric', '1'],
  ['events', 'events', 'name', 'digest, value, tags, received, place'],
];

/** All rows of a generation that are kept, as `GenerationStore.rows` promises them; the rows of one time are held at once. */
export async function* dump(sql: Sql, tables: Tables, layout: Layout, kept: KeptFrom, at?: Moment): AsyncGenerator<StoredRow> {
  const window = at ? { startMs: at.timestampMs, endMs: at.timestampMs + 1 } : { startMs: 0, endMs: maxTimestampMs + 1 };
  for (const [what, table, metric, rest] of contents) {
    if (at && at.what !== what) continue;
    const cells = layout.arrivalsAreKeys ? rest : rest.replace('received', 'null');
    const select = `SELECT ts::long / 1000, org, source, ${metric}, ${cells} FROM ${tables[table]} WHERE ts >= $1 AND ts < $2 AND ${isThere}`;
    for await (const page of pages(sql, select, what === 'metric names' ? window : since(window, kept[what]))) {
      const rows = page.map((row): StoredRow => ({ what, row }));
      yield* what === 'events' ? firstArrivals(rows) : rows.sort(compareRows);
    }
  }
}

/** Rows of whole milliseconds, so that a page can be ordered by itself. */
async function* pages(sql: Sql, select: string, window: Window): AsyncGenerator<StoredRow['row'][]> {
  const { endMs: toMs } = window;
  for (let fromMs = window.startMs; fromMs < toMs;) {
    const some = sqlWindow({ startMs: fromMs, endMs: toMs });
    const rows = await sql.patientRows<StoredRow['row']>(`${select} ORDER BY ts LIMIT ${pageRows}`, some);
    if (rows.length < pageRows) {
      yield rows;
      return;
    }
    const lastMs = rows.at(-1)![0];
    const whole = rows.filter(([timestampMs]) => timestampMs < lastMs);
    yield whole.length > 0 ? whole : await sql.patientRows<StoredRow['row']>(select, sqlWindow({ startMs: lastMs, endMs: lastMs + 1 }));
    fromMs = whole.length > 0 ? lastMs : lastMs + 1;
  }
}

/** Sorts rows of events and keeps of each event the row with the least (receive time, place), which are the last two cells. */
function firstArrivals(rows: StoredRow[]): StoredRow[] {
  const arrival = ({ row }: StoredRow, cell: -2 | -1): number => Number(row.at(cell));
  rows.sort((a, b) => compareRows(a, b) || arrival(a, -2) - arrival(b, -2) || arrival(a, -1) - arrival(b, -1));
  return rows.filter((row, at) => at === 0 || compareRows(row, rows[at - 1]!) !== 0);
}
