import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { eventDigest, type EventBatch, type Tags } from '#model';
import type { Placed } from '#stores';
import { createBoundaries, type KeptSince, keptSince, readBoundaries, writeBoundaries } from '../boundaries.js';
import { makeDurable, unsynced } from '../transaction.js';
import type { Handlers } from '../worker.js';

/**
 * Rows lie in the order of arrival, so that a write appends; two narrow indexes find them. `event_identity` makes a repeated event one
 * row and serves a name filter; `event_order` serves windows and tails, and holds all that entries are ordered by: a clock that stands
 * still puts any number of them into one millisecond. Names are numbers there: they are in each row and both indexes.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS event_source(id INTEGER PRIMARY KEY, org TEXT NOT NULL, source TEXT NOT NULL, UNIQUE(org, source)) STRICT;
  CREATE TABLE IF NOT EXISTS event_metric(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE IF NOT EXISTS event(
    id INTEGER PRIMARY KEY, source INT NOT NULL, metric INT NOT NULL, time INT NOT NULL,
    received INT NOT NULL, place INT NOT NULL, digest BLOB NOT NULL, checksum INT NOT NULL, tags TEXT NOT NULL, value TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX IF NOT EXISTS event_identity ON event(source, metric, time, digest);
  CREATE INDEX IF NOT EXISTS event_order ON event(source, time, received, place, metric, digest);`;

export function createEventTables(db: DatabaseSync): void {
  db.exec(tables);
  createBoundaries(db);
}

/** An event as a row, with the names that its ids stand for. */
export interface EventRow {
  readonly orgId: string;
  readonly sourceId: string;
  readonly metric: string;
  readonly timestampMs: number;
  readonly receivedMs: number;
  readonly place: number;
  readonly tags: Tags;
  readonly value: string;
}

/** CRC-32 of all that a reader sees of a row. SQLite notices a broken tree, but not a changed byte in a value. */
export function eventCheck(row: EventRow): number {
  const { orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value } = row;
  return crc32(`${orgId}\0${sourceId}\0${metric}\0${timestampMs}\0${receivedMs}\0${place}\0${tags}\0${value}`);
}

/** Events to be written, as columns: handing a thread an object for each event and each source would cost several times as much. */
export interface EventWrite {
  /** Of each batch, and where its events end. */
  readonly orgIds: string[];
  readonly sourceIds: string[];
  readonly receivedMs: number[];
  readonly ends: number[];
  /** Of each event. */
  readonly metrics: string[];
  readonly timestampMs: number[];
  readonly values: string[];
  readonly isJson: boolean[];
  readonly tags: Tags[];
  readonly places: number[];
  readonly ordinals: number[];
  /** The offset after the last batch's. */
  readonly next: number;
  /** From when on events are kept, where that has changed. */
  readonly boundaries: KeptSince | undefined;
}

export function eventWrite(batches: readonly Placed<EventBatch>[], boundaries?: KeptSince): EventWrite {
  const columns: EventWrite = {
    orgIds: [],
    sourceIds: [],
    receivedMs: [],
    ends: [],
    metrics: [],
    timestampMs: [],
    values: [],
    isJson: [],
    tags: [],
    places: [],
    ordinals: [],
    next: 1 + batches.reduce((most, { offset }) => Math.max(most, offset), -1),
    boundaries,
  };
  for (const { value } of batches) {
    const { orgId, sourceId, receivedMs, events } = value;
    for (const event of events) {
      columns.metrics.push(event.metric);
      columns.timestampMs.push(event.timestampMs);
      columns.values.push(event.value);
      columns.isJson.push(event.isJson);
      columns.tags.push(event.tags);
      columns.places.push(event.place);
      columns.ordinals.push(event.ordinal);
    }
    columns.orgIds.push(orgId);
    columns.sourceIds.push(sourceId);
    columns.receivedMs.push(receivedMs);
    columns.ends.push(columns.metrics.length);
  }
  return columns;
}

/** What a record deletes. */
export interface EventDeletion {
  readonly orgId: string;
  readonly sourceId: string;
  /** Null is all of the source. */
  readonly metric: string | null;
  /** The offset that follows the record of the deletion in its partition. */
  readonly next: number;
}

/**
 * What the store's writing thread does for events.
 * @param took is told of the offset after the newest record in the store, in the transaction that puts it there.
 */
export function eventWriter(db: DatabaseSync, took: (next: number) => void): Handlers {
  createEventTables(db);
  const writer = new EventWriter(db, took);
  return {
    openEvents: () => writer.boundaries,
    writeEvents: (request: EventWrite) => writer.write(request),
    forgetEvents: () => writer.forget(),
    deleteEvents: (deletion: EventDeletion) => writer.delete(deletion),
    checkpointEvents: () => makeDurable(db),
  };
}

/**
 * Writes each event once. Of an event that came in several bodies it keeps the least (receive time, place), so that the order of processing does
 * not change the answer.
 */
class EventWriter {
  readonly #sources: NameIds;
  readonly #metrics: NameIds;
  readonly #put;
  readonly #sourcesFrom: StatementSync;
  readonly #remove: StatementSync;
  boundaries: KeptSince;
  /** The source whose old events are to be removed next; undefined when no source has any. */
  #forgetting: number | undefined = 0;
  readonly #deleteAll;
  readonly #deleteNamed;

  constructor(
    private readonly db: DatabaseSync,
    private readonly took: (next: number) => void,
  ) {
    this.#sources = new NameIds(db, 'event_source', ['org', 'source']);
    this.#metrics = new NameIds(db, 'event_metric', ['name']);
    this.#put = db.prepare(`
      INSERT INTO event(source, metric, time, received, place, digest, checksum, tags, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT(source, metric, time, digest) DO UPDATE
      SET received = excluded.received, place = excluded.place, checksum = excluded.checksum
      WHERE (excluded.received, excluded.place) < (received, place)`);
    this.boundaries = readBoundaries(db, 'events');
    this.#sourcesFrom = db.prepare('SELECT id, org FROM event_source WHERE id >= ? ORDER BY id LIMIT ?');
    this.#remove = db.prepare(`
      DELETE FROM event WHERE id IN (SELECT id FROM event INDEXED BY event_order WHERE source = ? AND time < ? ORDER BY time LIMIT ?)`);
    this.#deleteAll = db.prepare('DELETE FROM event WHERE id IN (SELECT id FROM event INDEXED BY event_order WHERE source = ? LIMIT ?)');
    this.#deleteNamed = db.prepare(
      'DELETE FROM event WHERE id IN (SELECT id FROM event INDEXED BY event_identity WHERE source = ? AND metric = ? LIMIT ?)',
    );
  }

  /** Writes all batches or, when it throws, none. They survive the end of the process at once, and a power cut after `makeDurable`. */
  write(columns: EventWrite): void {
    try {
      unsynced(this.db, () => {
        this.took(columns.next);
        if (columns.boundaries) writeBoundaries(this.db, 'events', columns.boundaries);
        for (let batch = 0; batch < columns.ends.length; batch++) this.#writeBatch(columns, batch);
      });
    } catch (cause) {
      this.#sources.forget();
      this.#metrics.forget();
      throw cause;
    }
    if (!columns.boundaries) return;
    this.boundaries = columns.boundaries;
    this.#forgetting = 0;
  }

  /** Removes some of the events that are no longer kept; false when none are left. No reader sees any of them. */
  forget(): boolean {
    const first = this.#forgetting;
    if (first === undefined) return false;
    this.#forgetting = unsynced(this.db, () => this.#forgetFrom(first));
    return this.#forgetting !== undefined;
  }

  #forgetFrom(first: number): number | undefined {
    let room = removedAtOnce;
    for (const { id, org } of this.#sourcesFrom.all(first, room) as unknown as { readonly id: number; readonly org: string }[]) {
      room -= 1 + Number(this.#remove.run(id, keptSince(this.boundaries, org), room).changes);
      if (room <= 0) return id;
    }
    return undefined;
  }

  /** Deletes some of the rows; true when there may be more. The name of a source goes with its last one. */
  delete({ orgId, sourceId, metric, next }: EventDeletion): boolean {
    return unsynced(this.db, () => {
      const source = this.#sources.find(orgId, sourceId);
      if (source !== undefined && this.#deleteSome(source, metric) === removedAtOnce) return true;
      if (metric === null) this.#sources.remove(orgId, sourceId);
      this.took(next);
      return false;
    });
  }

  #deleteSome(source: number, metric: string | null): number {
    if (metric === null) return Number(this.#deleteAll.run(source, removedAtOnce).changes);
    const id = this.#metrics.find(metric);
    return id === undefined ? 0 : Number(this.#deleteNamed.run(source, id, removedAtOnce).changes);
  }

  #writeBatch(columns: EventWrite, batch: number): void {
    const [orgId, sourceId, receivedMs] = [columns.orgIds[batch]!, columns.sourceIds[batch]!, columns.receivedMs[batch]!];
    const source = this.#sources.idOf(orgId, sourceId);
    for (let at = columns.ends[batch - 1] ?? 0; at < columns.ends[batch]!; at++) {
      const [metric, timestampMs, place] = [columns.metrics[at]!, columns.timestampMs[at]!, columns.places[at]!];
      const [tags, value] = [columns.tags[at]!, columns.values[at]!];
      const checksum = eventCheck({ orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value });
      const digest = eventDigest({ ordinal: columns.ordinals[at]!, isJson: columns.isJson[at]!, tags, value });
      this.#put.run(source, this.#metrics.idOf(metric), timestampMs, receivedMs, place, digest, checksum, tags, value);
    }
  }
}

/** Events and sources that are looked at in one transaction: other writes wait for so long. */
const removedAtOnce = 256;
const maxRemembered = 100_000;

/** Numbers for names, from a table `(id, …columns)`; the ones in use are held in memory. */
class NameIds {
  readonly #known = new Map<string, number>();
  readonly #find: StatementSync;
  readonly #add: StatementSync;
  readonly #remove: StatementSync;

  constructor(db: DatabaseSync, table: string, columns: readonly string[]) {
    const places = columns.map(() => '?').join(', ');
    const isIt = columns.map((column) => `${column} = ?`).join(' AND ');
    this.#find = db.prepare(`SELECT id FROM ${table} WHERE ${isIt}`);
    this.#remove = db.prepare(`DELETE FROM ${table} WHERE ${isIt}`);
    this.#add = db.prepare(`INSERT INTO ${table}(${columns.join(', ')}) VALUES (${places}) ON CONFLICT DO NOTHING`);
  }

  /** The id of a name, given at its first use. Names hold no NUL. */
  idOf(...name: string[]): number {
    const key = name.join('\0');
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#known.size === maxRemembered) this.#known.clear();
    const { changes, lastInsertRowid } = this.#add.run(...name);
    const id = changes === 1 ? Number(lastInsertRowid) : this.find(...name)!;
    this.#known.set(key, id);
    return id;
  }

  /** Undefined when it has none. */
  find(...name: string[]): number | undefined {
    return (this.#find.get(...name) as { id: number } | undefined)?.id;
  }

  /** Its id may be given to another name. */
  remove(...name: string[]): void {
    this.#known.delete(name.join('\0'));
    this.#remove.run(...name);
  }

  /** To be called when a transaction that may have given ids was rolled back. */
  forget(): void {
    this.#known.clear();
  }
}
