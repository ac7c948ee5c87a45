import { compareUtf8, eachInSteps, type LogEntry, stepEntries, tagsOf, type Window } from '#model';
import { inTurns } from '#stores';
import type { Kept } from './kept.js';
import type { Lookups } from './lookups.js';
import { since, type Slices, sqlWindow } from './slices.js';
import type { Value } from './sql.js';
import type { Layout, Tables } from './tables.js';
import { arrival, arrivalParts } from './views.js';

type EventRow = readonly [
  timestampMs: number,
  metric: string,
  digest: string,
  received: number,
  place: number,
  value: string,
  tags: string,
];

/** Which entries are meant. */
export interface EventQuery {
  readonly orgId: string;
  readonly sourceId: string;
  readonly window: Window;
  readonly limit: number;
  /** True for the last `limit` of the window instead of the first. */
  readonly last: boolean;
  readonly name: string | undefined;
}

/** Reads events of one generation, each once: an event that came in several bodies has a row for each (receive time, place). */
export class EventReads {
  constructor(
    private readonly sql: Pick<Lookups, 'rows'>,
    private readonly tables: Tables,
    private readonly slices: Slices,
    private readonly layout: () => Promise<Layout>,
    private readonly kept: Kept,
  ) {}

  /** Oldest first. */
  async entries(query: EventQuery): Promise<LogEntry[]> {
    const { events: fromMs } = await this.kept.fresh();
    const slices = await this.slices.of('events', since(query.window, fromMs));
    const found: EventRow[] = [];
    for (const slice of query.last ? slices.toReversed() : slices) {
      for (let rest: Window | undefined = slice; rest && found.length < query.limit;) {
        const { rows, left } = await this.#page(query, rest);
        found.push(...rows);
        rest = left;
      }
    }
    const entries = await inTurns(eachInSteps(found.slice(0, query.limit), entryOf, stepEntries));
    return query.last ? entries.reverse() : entries;
  }

  /** Some entries from the beginning of the window (from its end for the last ones), in that order, and what is left of the window. */
  async #page(query: EventQuery, window: Window): Promise<{ readonly rows: EventRow[]; readonly left: Window | undefined }> {
    const pageRows = query.limit + 100;
    const direction = query.last ? 'DESC' : 'ASC';
    const from = `SELECT ts::long / 1000, name, digest, ${await this.#received()}, place, value, tags FROM ${this.tables.events}`;
    const rows = await this.#select(query, window, from, `ORDER BY ts ${direction} LIMIT ${pageRows}`);
    if (rows.length < pageRows) return { rows: await ordered(rows, query.last), left: undefined };
    // The last time of a full page may have more rows.
    const [cutMs] = rows.at(-1)!;
    const whole = rows.filter(([timestampMs]) => timestampMs !== cutMs);
    const atCut = await this.#atOneTime(query, cutMs);
    const left = query.last ? { startMs: window.startMs, endMs: cutMs } : { startMs: cutMs + 1, endMs: window.endMs };
    return { rows: [...(await ordered(whole, query.last)), ...(await ordered(atCut, query.last))], left };
  }

  async #atOneTime(query: EventQuery, timestampMs: number): Promise<EventRow[]> {
    const direction = query.last ? 'DESC' : 'ASC';
    const once = `
      SELECT ms, name, digest, ${arrivalParts('least')}, value, tags FROM (
      SELECT ts::long / 1000 AS ms, name, digest, ${arrival(await this.#received())} AS least, value, tags FROM ${this.tables.events}`;
    const order = `
      GROUP BY ts, name, digest, value, tags ORDER BY least ${direction}, name::varchar ${direction}, digest ${direction}
      LIMIT ${query.limit})`;
    return this.#select(query, { startMs: timestampMs, endMs: timestampMs + 1 }, once, order);
  }

  /** The receive time as far as the table has it, milliseconds. */
  async #received(): Promise<string> {
    return (await this.layout()).arrivalsAreKeys ? 'received' : '0';
  }

  async #select({ orgId, sourceId, name }: EventQuery, window: Window, from: string, rest: string): Promise<EventRow[]> {
    const values: Value[] = [orgId, sourceId, ...sqlWindow(window)];
    if (name !== undefined) values.push(name);
    const where = `org = $1 AND source = $2 AND ts >= $3 AND ts < $4${name === undefined ? '' : ' AND name = $5'}`;
    return this.sql.rows<EventRow>(`${from} WHERE ${where} ${rest}`, values);
  }
}

const entryOf = ([timestampMs, metric, , , , value, tags]: EventRow): LogEntry => ({ timestampMs, metric, value, tags: tagsOf(tags) });

/** Each event once, with its least (receive time, place), in the order of answers or against it. */
async function ordered(rows: readonly EventRow[], backwards: boolean): Promise<EventRow[]> {
  const once = new Map<string, EventRow>();
  const add = (row: EventRow): void => {
    const [timestampMs, metric, digest] = row;
    const key = `${timestampMs}\0${metric}\0${digest}`;
    const known = once.get(key);
    if (!known || byArrival(row, known) < 0) once.set(key, row);
  };
  await inTurns(eachInSteps(rows, add));
  const sorted = [...once.values()].sort(inOrder);
  return backwards ? sorted.reverse() : sorted;
}

function inOrder(a: EventRow, b: EventRow): number {
  const [aMs, aMetric, aDigest] = a;
  const [bMs, bMetric, bDigest] = b;
  return aMs - bMs || byArrival(a, b) || compareUtf8(aMetric, bMetric) || (aDigest < bDigest ? -1 : 1);
}

function byArrival([, , , aReceived, aPlace]: EventRow, [, , , bReceived, bPlace]: EventRow): number {
  return aReceived - bReceived || aPlace - bPlace;
}
