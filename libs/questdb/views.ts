import { isThere, type Layout, newest, type Tables } from './tables.js';

/** Statements that make people's SQL see these tables. */
export function publishing(tables: Tables, { arrivalsAreKeys }: Layout = newest): string[] {
  const view = (name: string, select: string): string => `CREATE OR REPLACE VIEW ${name} AS (${select})`;
  return [
    view('points', `SELECT ts, org, source, metric, value, tags FROM ${tables.points} WHERE ${isThere}`),
    view('rollup_1m', buckets(tables.rollup1m)),
    view('rollup_10m', tenMinutes(tables.rollup1m)),
    view('rollup_1h', buckets(tables.rollup1h)),
    view('rollup_1d', buckets(tables.rollup1d)),
    view('events', arrivalsAreKeys ? inArrivalOrder(tables.events) : inBodyOrder(tables.events)),
  ];
}

const buckets = (table: string): string =>
  `SELECT ts, org, source, metric, min, max, sum / count AS avg, sum, count FROM ${table} WHERE ${isThere}`;

const tenMinutes = (table: string): string => `
  SELECT timestamp_floor('10m', ts) AS ts, org, source, metric,
    min(min) AS min, max(max) AS max, sum(sum) / sum(count) AS avg, sum(sum) AS sum, sum(count) AS count
  FROM ${table} WHERE ${isThere} GROUP BY timestamp_floor('10m', ts), org, source, metric`;

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
    SELECT ${eventColumns}, ${arrival('received')} AS least FROM ${table} WHERE ${isThere} GROUP BY ${eventColumns}))`;

const inBodyOrder = (table: string): string => `
  SELECT ts, org, source, name, value, tags, place
  FROM (SELECT ${eventColumns}, min(place) AS place FROM ${table} WHERE ${isThere} GROUP BY ${eventColumns})`;
