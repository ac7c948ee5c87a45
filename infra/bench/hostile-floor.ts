import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';

interface Point {
  readonly source_id?: string;
  readonly metric: string;
  readonly value: unknown;
  readonly timestamp?: number;
  readonly tags?: object;
}

const tables = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE bytes(id INTEGER PRIMARY KEY, body BLOB);
  CREATE TABLE name(id INTEGER PRIMARY KEY, kind TEXT, name TEXT, UNIQUE(kind, name));
  CREATE TABLE event(id INTEGER PRIMARY KEY, source INT, metric INT, time INT, place INT, value TEXT);
  CREATE INDEX event_order ON event(source, time, metric, place);`;

/**
 * The least work that a server written in Node has to do with a body that is stored for good: `JSON.parse`, its records in a log with one
 * sync, and in a store with another one its numbers, each new name once, and a row with one index for each event. No HTTP, no threads, no
 * checks.
 */
export class HostileFloor {
  readonly #folder = mkdtempSync(join(tmpdir(), 'headwater-floor-'));
  readonly #log = this.#open('log.db');
  readonly #store = this.#open('store.db');
  readonly #append = this.#log.prepare('INSERT INTO bytes(body) VALUES (?)');
  readonly #putBytes = this.#store.prepare('INSERT INTO bytes(body) VALUES (?)');
  readonly #putName = this.#store.prepare('INSERT INTO name(kind, name) VALUES (?, ?)');
  readonly #putEvent = this.#store.prepare('INSERT INTO event(source, metric, time, place, value) VALUES (?, ?, ?, ?, ?)');
  readonly #known: Readonly<Record<string, Map<string, SQLInputValue>>> = { source: new Map(), metric: new Map(), tags: new Map() };

  /** CPU seconds of a body. */
  cpuS(body: string): number {
    const before = process.cpuUsage();
    this.#take(body);
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1e6;
  }

  remove(): void {
    this.#log.close();
    this.#store.close();
    rmSync(this.#folder, { recursive: true });
  }

  #take(body: string): void {
    const { source_id: bodySource, points } = JSON.parse(body) as { source_id: string; points: readonly Point[] };
    this.#append.run(zstdCompressSync(JSON.stringify(points)));
    this.#store.exec('BEGIN');
    const numbers: number[] = [];
    for (const [place, { source_id: source = bodySource, metric, value, timestamp = Date.now(), tags }] of points.entries()) {
      const ids = [this.#idOf('source', source), this.#idOf('metric', metric)] as const;
      if (typeof value !== 'number') this.#putEvent.run(...ids, timestamp, place, JSON.stringify(value));
      else numbers.push(timestamp, value);
      if (tags) this.#idOf('tags', JSON.stringify(tags));
    }
    this.#putBytes.run(zstdCompressSync(Float64Array.from(numbers)));
    this.#store.exec('COMMIT');
  }

  #idOf(kind: string, name: string): SQLInputValue {
    const known = this.#known[kind]!;
    let id = known.get(name);
    if (id === undefined) known.set(name, (id = this.#putName.run(kind, name).lastInsertRowid));
    return id;
  }

  #open(name: string): DatabaseSync {
    const db = new DatabaseSync(join(this.#folder, name));
    db.exec(tables);
    return db;
  }
}
