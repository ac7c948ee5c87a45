import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import type { Handlers } from '../worker.js';
import { eventCheck } from './event-identity.js';

/** The entries that a caller wants, as one thread asks the other. */
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

type Row = [id: number, time: number, place: number, metric: string, checksum: number, tags: string, value: string];

/** What the store's reading thread does for events. */
export function eventReader(db: DatabaseSync): Handlers {
  let reader: EventReader | undefined;
  return { readEvents: (query: EventQuery) => (reader ??= new EventReader(db)).read(query) };
}

export class EventReader {
  readonly #source: StatementSync;
  readonly #statements: Record<'all' | 'named', Record<'first' | 'last', StatementSync>>;

  constructor(db: DatabaseSync) {
    this.#source = db.prepare('SELECT id FROM event_source WHERE org = ? AND source = ?');
    this.#statements = {
      all: { first: select(db, 'event_order', '', 'ASC'), last: select(db, 'event_order', '', 'DESC') },
      named: { first: select(db, 'event_identity', byMetric, 'ASC'), last: select(db, 'event_identity', byMetric, 'DESC') },
    };
  }

  /** @throws TelemetryError `store_corrupt` when an entry is not what was written. */
  read(query: EventQuery): EventColumns {
    const columns: EventColumns = { timestampMs: [], metric: [], value: [], tags: [] };
    for (const [id, timestampMs, place, metric, checksum, tags, value] of this.#rows(query)) {
      const { orgId, sourceId } = query;
      if (eventCheck({ orgId, sourceId, metric, timestampMs, place, tags, value }) !== checksum) throw damaged(id);
      columns.timestampMs.push(timestampMs);
      columns.metric.push(metric);
      columns.value.push(value);
      columns.tags.push(tags);
    }
    if (query.last) for (const column of Object.values(columns) as unknown[][]) column.reverse();
    return columns;
  }

  #rows({ orgId, sourceId, metric, startMs, endMs, limit, last }: EventQuery): Iterable<Row> {
    const source = this.#source.get(orgId, sourceId) as { id: number } | undefined;
    if (!source) return [];
    const direction = last ? 'last' : 'first';
    const rows =
      metric === null
        ? this.#statements.all[direction].iterate(source.id, startMs, endMs, limit)
        : this.#statements.named[direction].iterate(source.id, metric, startMs, endMs, limit);
    return rows as Iterable<unknown> as Iterable<Row>;
  }
}

const byMetric = 'AND metric = (SELECT id FROM event_metric WHERE name = ?)';

function select(db: DatabaseSync, index: string, filter: string, direction: 'ASC' | 'DESC'): StatementSync {
  const statement = db.prepare(`
    SELECT id, time, place, (SELECT name FROM event_metric WHERE event_metric.id = metric) AS name, checksum, tags, value
    FROM event INDEXED BY ${index} WHERE source = ? ${filter} AND time >= ? AND time < ?
    ORDER BY time ${direction}, place ${direction}, name ${direction}, digest ${direction} LIMIT ?`);
  statement.setReturnArrays(true);
  return statement;
}

function damaged(row: number): TelemetryError {
  return new TelemetryError('store_corrupt', `Event row ${row} is damaged: have the operator rebuild the store from the log.`);
}
