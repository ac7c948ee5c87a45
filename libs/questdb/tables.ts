import { type Layout, newest } from './layout.js';

/** The tables of one generation of the projections. */
export interface Tables {
  readonly points: string;
  readonly rollup1m: string;
  readonly rollup1h: string;
  readonly rollup1d: string;
  readonly metrics: string;
  readonly events: string;
}

/** Finest first. */
export const rollupTables = ['rollup1m', 'rollup1h', 'rollup1d'] as const;

/** How points and their minutes are cut into files; the coarser levels follow. */
export type Partitioning = 'HOUR' | 'DAY' | 'WEEK' | 'MONTH';

const dayMs = 86_400_000;
const timeMs: Readonly<Record<Partitioning, number>> = { HOUR: dayMs / 24, DAY: dayMs, WEEK: 7 * dayMs, MONTH: 28 * dayMs };

/** The time of one partition of each table of points and buckets, at least. */
export function partitionMs(by: Partitioning): Readonly<Record<'points' | (typeof rollupTables)[number], number>> {
  const { DAY, MONTH } = timeMs;
  return {
    points: timeMs[by],
    rollup1m: by === 'HOUR' ? DAY : timeMs[by],
    rollup1h: by === 'MONTH' ? 12 * MONTH : MONTH,
    rollup1d: 12 * MONTH,
  };
}

export function tablesOf(generation: number): Tables {
  const name = (table: string): string => `${table}_g${generation}`;
  return {
    points: name('points'),
    rollup1m: name('rollup_1m'),
    rollup1h: name('rollup_1h'),
    rollup1d: name('rollup_1d'),
    metrics: name('metrics'),
    events: name('events'),
  };
}

const series = 'ts TIMESTAMP, org SYMBOL, source SYMBOL INDEX, metric SYMBOL';
const seriesKeys = 'ts, org, source, metric';
const rollup = `${series}, min DOUBLE, max DOUBLE, sum DOUBLE, count LONG`;
const event = 'ts TIMESTAMP, org SYMBOL, source SYMBOL INDEX, name SYMBOL, value VARCHAR, tags VARCHAR, digest VARCHAR';
const eventKeys = 'ts, org, source, name, digest';

/** A table as it should be, in words of SQL. */
export interface Wanted {
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
export function wantedTables(tables: Tables, by: Partitioning, { tagsAreKeys, arrivalsAreKeys }: Layout = newest): Wanted[] {
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
  ];
}

/** Statements that make the tables where they are missing. */
export function creating(tables: Tables, by: Partitioning, layout = newest): string[] {
  return wantedTables(tables, by, layout).map(
    ({ table, columns, partitionBy, keys }) =>
      `CREATE TABLE IF NOT EXISTS ${table} (${columns}) TIMESTAMP(ts) PARTITION BY ${partitionBy} WAL DEDUP UPSERT KEYS(${keys})`,
  );
}

/** Statements that make people's SQL see these tables. */
export function viewing(tables: Tables, { arrivalsAreKeys }: Layout = newest): string[] {
  const view = (name: string, select: string): string => `CREATE OR REPLACE VIEW ${name} AS (${select})`;
  return [
    view('points', `SELECT ts, org, source, metric, value, tags FROM ${tables.points}`),
    view('rollup_1m', buckets(tables.rollup1m)),
    view('rollup_10m', tenMinutes(tables.rollup1m)),
    view('rollup_1h', buckets(tables.rollup1h)),
    view('rollup_1d', buckets(tables.rollup1d)),
    view('events', arrivalsAreKeys ? inArrivalOrder(tables.events) : inBodyOrder(tables.events)),
  ];
}

const buckets = (table: string): string => `SELECT ts, org, source, metric, min, max, sum / count AS avg, sum, count FROM ${table}`;

const tenMinutes = (table: string): string => `
  SELECT timestamp_floor('10m', ts) AS ts, org, source, metric,
    min(min) AS min, max(max) AS max, sum(sum) / sum(count) AS avg, sum(sum) AS sum, sum(count) AS count
  FROM ${table} GROUP BY timestamp_floor('10m', ts), org, source, metric`;

/**
 * An event that came in several bodies has a row for each (receive time, place): the least counts. The pair is one number, which orders as
 * the pair does, as a body has fewer than 16,384 events.
 */
export const arrival = (received: string): string => `min(${received} * ${placesOfBody} + place)`;
const placesOfBody = 16_384;
/** The two numbers again. */
export const arrivalParts = (least: string): string => `${least} / ${placesOfBody} AS received, ${least} % ${placesOfBody} AS place`;

const eventColumns = 'ts, org, source, name, digest, value, tags';

const inArrivalOrder = (table: string): string => `
  SELECT ts, org, source, name, value, tags, (received * 1000)::timestamp AS received, place::int AS place
  FROM (SELECT ${eventColumns}, ${arrivalParts('least')} FROM (
    SELECT ${eventColumns}, ${arrival('received')} AS least FROM ${table} GROUP BY ${eventColumns}))`;

const inBodyOrder = (table: string): string => `
  SELECT ts, org, source, name, value, tags, place
  FROM (SELECT ${eventColumns}, min(place) AS place FROM ${table} GROUP BY ${eventColumns})`;
