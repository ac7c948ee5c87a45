import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { keptSinceReader } from '../boundaries.js';
import type { Handlers } from '../worker.js';
import { eventCheck } from './event-writer.js';

/** A question to the reader thread. */
export interface EventQuery {
  readonly orgId: string;
  readonly sourceId: string;
  readonly metric: string | null;
  readonly startMs: number;
  readonly endMs: number;
  readonly limit: number;
  /** True for the last `limit` of the window instead of the first. */
  readonly last: boolean;
}

/** Entries as parallel columns, oldest first; `tags` as `tagsKey` writes them. */
export interface EventColumns {
  readonly timestampMs: number[];
  readonly metric: string[];
  readonly value: string[];
  readonly tags: string[];
}

/** A part of an answer. The caller asks for the next part by the answer's number, so that its thread never takes over a long answer in one piece. */
export interface EventPart extends EventColumns {
  /** Undefined with the last part. */
  readonly answer: number | undefined;
}

/** A part ends once its values and tags have so many characters. */
const partChars = 1024 * 1024;

type EntryRow = [id: number, time: number, received: number, place: number, metric: string, checksum: number, tags: string, value: string];

/** What the store's reading thread does for events. */
export function eventReader(db: DatabaseSync): Handlers {
  let reader: EventReader | undefined;
  let answers = 0;
  const begun = new Map<number, Iterator<EventColumns, EventColumns>>();
  const next = (answer: number): EventPart => {
    const { done, value } = begun.get(answer)!.next();
    if (done) begun.delete(answer);
    return { ...value, answer: done ? undefined : answer };
  };
  return {
    readEvents: (query: EventQuery) => {
      begun.set(++answers, partsOf((reader ??= new EventReader(db)).read(query)));
      return next(answers);
    },
    restOfEvents: next,
  };
}

function* partsOf(columns: EventColumns): Generator<EventColumns, EventColumns> {
  const { timestampMs, metric, value, tags } = columns;
  const part = (from: number, to: number): EventColumns => ({
    timestampMs: timestampMs.slice(from, to),
    metric: metric.slice(from, to),
    value: value.slice(from, to),
    tags: tags.slice(from, to),
  });
  let [from, chars] = [0, 0];
  for (let at = 0; at < value.length; at++) {
    chars += value[at]!.length + tags[at]!.length;
    if (chars < partChars) continue;
    yield part(from, at + 1);
    [from, chars] = [at + 1, 0];
  }
  return part(from, value.length);
}

class EventReader {
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #from: ReturnType<typeof keptSinceReader>;
  readonly #source: StatementSync;
  readonly #metric: StatementSync;
  readonly #statements: Readonly<Record<'first' | 'last', Statements>>;

  constructor(db: DatabaseSync) {
    this.#begin = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
    this.#from = keptSinceReader(db, 'events');
    this.#source = db.prepare('SELECT id FROM event_source WHERE org = ? AND source = ?');
    this.#metric = db.prepare('SELECT id FROM event_metric WHERE name = ?');
    this.#statements = { first: prepare(db, 'ASC'), last: prepare(db, 'DESC') };
  }

  /** Reads what was committed when it began. @throws TelemetryError `store_corrupt` when an entry is not what was written. */
  read(query: EventQuery): EventColumns {
    this.#begin.run();
    try {
      return this.#read({ ...query, startMs: Math.max(query.startMs, this.#from(query.orgId)) });
    } finally {
      this.#commit.run();
    }
  }

  #read(query: EventQuery): EventColumns {
    const columns: EventColumns = { timestampMs: [], metric: [], value: [], tags: [] };
    for (const [id, timestampMs, receivedMs, place, metric, checksum, tags, value] of this.#rows(query)) {
      const { orgId, sourceId } = query;
      if (eventCheck({ orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value }) !== checksum) throw damaged(id);
      columns.timestampMs.push(timestampMs);
      columns.metric.push(metric);
      columns.value.push(value);
      columns.tags.push(tags);
    }
    if (query.last) for (const column of Object.values(columns) as unknown[][]) column.reverse();
    return columns;
  }

  #rows({ orgId, sourceId, metric, startMs, endMs, limit, last }: EventQuery): Iterable<EntryRow> {
    const source = this.#source.get(orgId, sourceId) as { id: number } | undefined;
    if (!source) return [];
    const statements = this.#statements[last ? 'last' : 'first'];
    if (metric === null) return rowsOf(statements.all, source.id, startMs, endMs, limit);
    const named = this.#metric.get(metric) as { id: number } | undefined;
    if (!named) return [];
    return namedRows(statements, [source.id, named.id], { startMs, endMs, limit, last });
  }
}

interface Statements {
  /** Entries of a window. */
  readonly all: StatementSync;
  /** Entries of a window and a name. SQLite sorts them all, so ask for few. */
  readonly named: StatementSync;
  /** The time of the entry of a name that comes after so many others of that name. */
  readonly timeAfter: StatementSync;
  /** Entries of a name in one millisecond, which may hold any number. */
  readonly namedAt: StatementSync;
}

/** Finds the millisecond in which the limit is reached: fewer entries than the limit come before it, and only that millisecond may hold very many. */
function* namedRows(
  { named, timeAfter, namedAt }: Statements,
  [source, metric]: readonly [number, number],
  { startMs, endMs, limit, last }: Pick<EventQuery, 'startMs' | 'endMs' | 'limit' | 'last'>,
): Iterable<EntryRow> {
  const [reachedMs] = (timeAfter.get(source, metric, startMs, endMs, limit - 1) ?? []) as unknown as [timeMs?: number];
  const [fromMs, toMs] = reachedMs === undefined ? [startMs, endMs] : last ? [reachedMs + 1, endMs] : [startMs, reachedMs];
  let room = limit;
  for (const row of rowsOf(named, source, metric, fromMs, toMs)) {
    room--;
    yield row;
  }
  if (reachedMs !== undefined) yield* rowsOf(namedAt, source, reachedMs, metric, room);
}

const rowsOf = (statement: StatementSync, ...parameters: readonly number[]): Iterable<EntryRow> =>
  statement.iterate(...parameters) as Iterable<unknown> as Iterable<EntryRow>;

function prepare(db: DatabaseSync, direction: Direction): Statements {
  const statement = (sql: string): StatementSync => {
    const prepared = db.prepare(sql);
    prepared.setReturnArrays(true);
    return prepared;
  };
  const { all, named, timeAfter, namedAt } = eventSql(direction);
  return { all: statement(all), named: statement(named), timeAfter: statement(timeAfter), namedAt: statement(namedAt) };
}

type Direction = 'ASC' | 'DESC';

/** The statements, by name. Each finds the rows in an index first, and reads only the rows that it answers with. */
export function eventSql(direction: Direction): Readonly<Record<keyof Statements, string>> {
  const order = `ORDER BY ${['time', 'received', 'place', 'name', 'digest'].map((column) => `${column} ${direction}`).join(', ')}`;
  const name = '(SELECT name FROM event_metric WHERE event_metric.id = event.metric) AS name';
  const columns = `id, time, received, place, ${name}, checksum, tags, value`;
  const chosen = (filter: string): string => `
    SELECT ${columns} FROM event
    WHERE id IN (SELECT id FROM (SELECT id, time, received, place, ${name}, digest FROM event INDEXED BY event_order WHERE ${filter} ${order} LIMIT ?))
    ${order}`;
  const byName = 'FROM event INDEXED BY event_identity WHERE source = ? AND metric = ? AND time >= ? AND time < ?';
  return {
    all: chosen('source = ? AND time >= ? AND time < ?'),
    named: `SELECT ${columns} ${byName} ${order}`,
    timeAfter: `SELECT time ${byName} ORDER BY time ${direction} LIMIT 1 OFFSET ?`,
    namedAt: chosen('source = ? AND time = ? AND metric = ?'),
  };
}

function damaged(row: number): TelemetryError {
  return new TelemetryError('store_corrupt', `Event row ${row} is damaged: have the operator rebuild the store from the log.`);
}
