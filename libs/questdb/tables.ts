import { bucketStartMs, intervalMs, OperatorError, type RollupInterval } from '#model';
import type { KeptKind, Patience } from '#stores';
import type { SqlRow, Sql } from './sql.js';

const dayMs = intervalMs['1d'];

/** What the names of the tables of every generation begin with. */
const tableNames = {
  points: 'points',
  rollup1m: 'rollup_1m',
  rollup1h: 'rollup_1h',
  rollup1d: 'rollup_1d',
  metrics: 'metrics',
  events: 'events',
  kept: 'kept',
};

/** The tables of one generation of the projections. */
export type Tables = Readonly<typeof tableNames>;

/** A stored rollup and what its rows are folded from. */
export interface Level {
  readonly interval: Exclude<RollupInterval, '10m'>;
  readonly sizeMs: number;
  readonly table: 'rollup1m' | 'rollup1h' | 'rollup1d';
  readonly from: 'points' | 'rollup1m' | 'rollup1h';
  /** Stale windows that lie together in so much time are made in one question. */
  readonly cellMs: number;
  /** See `RollupLevel`. */
  readonly maxOpen: number;
}

/** Finest first: each is folded from the one before, the first from the points. */
export const levels: readonly Level[] = [
  { interval: '1m', sizeMs: intervalMs['1m'], table: 'rollup1m', from: 'points', cellMs: intervalMs['1h'], maxOpen: 64 },
  { interval: '1h', sizeMs: intervalMs['1h'], table: 'rollup1h', from: 'rollup1m', cellMs: dayMs, maxOpen: 16 },
  { interval: '1d', sizeMs: dayMs, table: 'rollup1d', from: 'rollup1h', cellMs: 32 * dayMs, maxOpen: 8 },
];

/** SQL for the columns of a bucket over rows of this table: min, max, sum, count. */
export const foldOf = (from: keyof Tables): string =>
  from === 'points' ? 'min(value), max(value), sum(value), count()' : 'min(min), max(max), sum(sum), sum(count)';

/** The condition for rows that are not deleted, for questions that name no organization: see `Deletions`. */
export const isThere = 'org IS NOT NULL';

/** How points and their minutes are cut into files; the coarser levels follow. */
export type Partitioning = 'HOUR' | 'DAY' | 'WEEK' | 'MONTH';

const timeMs: Readonly<Record<Partitioning, number>> = { HOUR: dayMs / 24, DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs };

/** The time of one partition of each table of points and buckets, at least. */
export function partitionMs(by: Partitioning): Readonly<Record<'points' | Level['table'], number>> {
  const { DAY, MONTH } = timeMs;
  return {
    points: timeMs[by],
    rollup1m: by === 'HOUR' ? DAY : timeMs[by],
    rollup1h: by === 'MONTH' ? 12 * MONTH : MONTH,
    rollup1d: 12 * MONTH,
  };
}

export function tablesOf(generation: number): Tables {
  return Object.fromEntries(Object.entries(tableNames).map(([table, name]) => [table, `${name}_g${generation}`])) as Tables;
}

/**
 * In what the tables of a generation may differ from those that are made today: a generation keeps the tables that it was made with, until
 * `headwater rebuild` makes the next one.
 */
export interface Layout {
  /** Whether tags are among the keys of points. Where they are not, of points that differ in tags only the last one stays. */
  readonly tagsAreKeys: boolean;
  /**
   * Whether the receive time is among the keys of events. Where it is not, events of one time are ordered by the places in their bodies,
   * whenever they came.
   */
  readonly arrivalsAreKeys: boolean;
}

/** Of tables that are made today. */
export const newest: Layout = { tagsAreKeys: true, arrivalsAreKeys: true };

/**
 * Reads from the tables of a generation how they were made. Rejects `store_unavailable`, also when they are missing.
 * @param tables names of the generation's tables of points and of events.
 */
export async function layoutOf(ask: Ask, tables: { readonly points: string; readonly events: string }): Promise<Layout> {
  const isKey = async (table: string, column: string): Promise<boolean> =>
    (await columnsOf(ask, table)).some(({ name, isKey: is }) => name === column && is);
  return { tagsAreKeys: await isKey(tables.points, 'tags'), arrivalsAreKeys: await isKey(tables.events, 'received') };
}

/** What readers and writers of this generation have to do without, in sentences for the operator; empty for the newest layout. */
export function shortcomings({ tagsAreKeys, arrivalsAreKeys }: Layout, generation: number): string[] {
  const made = `in generation ${generation}, which an earlier version made`;
  const remake = 'Run `headwater rebuild`, which makes new tables from the log.';
  const tags = `Tags are not part of a point's identity ${made}: of points that differ in tags only the last one stays. ${remake}`;
  const arrivals = `Events of one millisecond do not come in the order of their arrival ${made}. ${remake}`;
  return [...(tagsAreKeys ? [] : [tags]), ...(arrivalsAreKeys ? [] : [arrivals])];
}

/** Asks a question: with patience or without. */
type Ask = <R extends SqlRow>(text: string) => Promise<R[]>;

/** A column of a table. */
interface Column {
  readonly name: string;
  /** As in a statement that makes the table. */
  readonly type: string;
  readonly isKey: boolean;
}

async function columnsOf(ask: Ask, table: string): Promise<Column[]> {
  const rows = await ask<[string, string, string, string]>(
    `SELECT "column", type, indexed::varchar, upsertKey::varchar FROM table_columns('${table}')`,
  );
  return rows.map(([name, type, indexed, isKey]) => ({
    name,
    type: `${type}${indexed === 'true' ? ' INDEX' : ''}`,
    isKey: isKey === 'true',
  }));
}

const series = 'ts TIMESTAMP, org SYMBOL, source SYMBOL INDEX, metric SYMBOL';
const seriesKeys = 'ts, org, source, metric';
const rollup = `${series}, min DOUBLE, max DOUBLE, sum DOUBLE, count LONG`;
const event = 'ts TIMESTAMP, org SYMBOL, source SYMBOL INDEX, name SYMBOL, value VARCHAR, tags VARCHAR, digest VARCHAR';
const eventKeys = 'ts, org, source, name, digest';

/** A table as it should be, in words of SQL. */
interface Wanted {
  readonly table: string;
  readonly columns: string;
  readonly partitionBy: string;
  /** Of rows that are equal in these the last one stays. */
  readonly keys: string;
}

/**
 * All tables, as they are made today unless another layout is asked for. A row of `metrics` stands at time 0, so that one that comes again is the same row; the receive time and the place are part of an
 * event's key, so that the least of them is there whatever was projected last.
 */
function wantedTables(tables: Tables, by: Partitioning, { tagsAreKeys, arrivalsAreKeys }: Layout = newest): Wanted[] {
  const wanted = (table: string, columns: string, partitionBy: string, keys: string): Wanted => ({ table, columns, partitionBy, keys });
  return [
    wanted(tables.points, `${series}, value DOUBLE, tags SYMBOL`, by, tagsAreKeys ? `${seriesKeys}, tags` : seriesKeys),
    wanted(tables.rollup1m, rollup, by === 'HOUR' ? 'DAY' : by, seriesKeys),
    wanted(tables.rollup1h, rollup, by === 'MONTH' ? 'YEAR' : 'MONTH', seriesKeys),
    wanted(tables.rollup1d, rollup, 'YEAR', seriesKeys),
    wanted(tables.metrics, series, 'YEAR', seriesKeys),
    arrivalsAreKeys
      ? wanted(tables.events, `${event}, received LONG, place INT`, by, `${eventKeys}, received, place`)
      : wanted(tables.events, `${event}, place INT`, by, `${eventKeys}, place`),
    keptTable(tables),
  ];
}

/** Moments from which on something is kept, see `Kept`; and up to which deletions are obeyed, see `Deletions`. */
const keptTable = ({ kept }: Tables): Wanted => ({
  table: kept,
  columns: 'ts TIMESTAMP, what SYMBOL',
  partitionBy: 'YEAR',
  keys: 'ts, what',
});

/** The tables of which whole partitions go, and what is kept there. */
export const shortened: readonly (readonly [table: keyof Tables, what: KeptKind])[] = [
  ['points', 'raw'],
  ...levels.map(({ table, interval }) => [table, interval] as const),
  ['events', 'events'],
];

/** The beginning of the partition that a moment lies in. @param by as QuestDB says it. */
export function partitionStartMs(timestampMs: number, by: string): number {
  const date = new Date(timestampMs);
  if (by === 'YEAR') return Date.UTC(date.getUTCFullYear());
  if (by === 'MONTH') return Date.UTC(date.getUTCFullYear(), date.getUTCMonth());
  // Weeks begin on Mondays, and 1970 began on a Thursday.
  if (by === 'WEEK') return bucketStartMs(timestampMs + 3 * dayMs, 7 * dayMs) - 3 * dayMs;
  return bucketStartMs(timestampMs, by === 'HOUR' ? timeMs.HOUR : dayMs);
}

/** Drops the partitions of a table that lie wholly before a moment. A statement that finds none does nothing. */
export async function dropPartitions(sql: Sql, table: string, beforeMs: number): Promise<void> {
  const [row] = await sql.rows<[string]>(`SELECT partitionBy FROM tables() WHERE table_name = '${table}'`);
  if (!row) return;
  const before = new Date(partitionStartMs(beforeMs, row[0])).toISOString();
  const [old] = await sql.rows<[number]>(`SELECT count() FROM table_partitions('${table}') WHERE minTimestamp < '${before}'`);
  if (old![0] > 0) await sql.run([`ALTER TABLE ${table} DROP PARTITION WHERE ts < '${before}'`]);
}

/** Statements that make the tables where they are missing. */
export function creating(tables: Tables, by: Partitioning, layout = newest): string[] {
  return wantedTables(tables, by, layout).map(creatingOne);
}

/** The statement that makes the table of boundaries, which a generation of an earlier version lacks. */
export const creatingKept = (tables: Tables): string => creatingOne(keptTable(tables));

/**
 * Rows of one symbol that a block of an index holds. QuestDB writes the blocks of all symbols of a partition again in each commit that is out of
 * order: with its default of 256, and 100,000 sources, that was 0.7 s of CPU instead of 0.3, and reads were no faster.
 */
const indexCapacity = 16;

const creatingOne = ({ table, columns, partitionBy, keys }: Wanted): string =>
  `CREATE TABLE IF NOT EXISTS ${table} (${columns.replace(' INDEX', ` INDEX CAPACITY ${indexCapacity}`)}) TIMESTAMP(ts) PARTITION BY ${partitionBy} WAL DEDUP UPSERT KEYS(${keys})`;

/** Makes what is missing; tables that an earlier version has made stay as they are. Rejects `store_unavailable`, and OperatorError. */
export async function ensureTables(sql: Sql, tables: Tables, by: Partitioning, patience?: Patience): Promise<void> {
  await sql.run(creating(tables, by), patience);
  const ask = <R extends SqlRow>(text: string): Promise<R[]> => sql.patientRows<R>(text, [], patience);
  const layout = await layoutOf(ask, tables);
  const differences: string[] = [];
  for (const wanted of wantedTables(tables, by, layout)) differences.push(...differencesOf(await found(ask, wanted.table), wanted));
  if (differences.length > 0) throw new OperatorError(differences.join('\n'));
}

type Found = Omit<Wanted, 'table'>;

async function found(ask: Ask, table: string): Promise<Found> {
  const columns = await columnsOf(ask, table);
  const [row] = await ask<[string]>(`SELECT partitionBy FROM tables() WHERE table_name = '${table}'`);
  return {
    columns: columns.map(({ name, type }) => `${name} ${type}`).join(', '),
    partitionBy: row?.[0] ?? 'NONE',
    keys: columns.flatMap(({ name, isKey }) => (isKey ? name : [])).join(', '),
  };
}

function* differencesOf(is: Found, { table, ...wanted }: Wanted): Generator<string> {
  const remake = 'run `headwater rebuild`, which makes new tables';
  if (is.partitionBy !== wanted.partitionBy) {
    const back = 'set HEADWATER_QUESTDB_PARTITION back to what it was';
    yield `QuestDB's table ${table} is partitioned by ${is.partitionBy}, not by ${wanted.partitionBy}: ${back}, or ${remake}.`;
  }
  if (is.columns !== wanted.columns) yield `QuestDB's table ${table} has the columns ${is.columns}, not ${wanted.columns}: ${remake}.`;
  if (is.keys !== wanted.keys) yield `QuestDB's table ${table} has the keys ${is.keys || 'of no column'}, not ${wanted.keys}: ${remake}.`;
}
