import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { rowChecksum } from '../checksum.js';
import { damaged } from './fault.js';
import { frameBytes, frameTopic, readFrame, tombstoneFrame, type StoredFrame, type StoredFrames } from './frame.js';

interface LatestRow {
  readonly at: number;
  readonly ms: number;
  /** 1 for a tombstone. */
  readonly gone: number;
  readonly crc: number;
  readonly frame: Uint8Array;
}

/** How many rows there are and the sum of their checksums, modulo 2^32, so that a lost row is noticed. */
interface Tally {
  readonly rows: number;
  readonly sum: number;
}

const tombstoneMs = 24 * 3_600_000;
const readBytes = 1 << 20;

/** The newest record of each key of the compacted topics, by offset. */
export class Latest {
  readonly #statements: ReturnType<typeof prepare>;
  #tally: Tally | undefined;
  /** New keys mostly come together, and so do known ones: what the last one was saves a look for the next. */
  #wasNew = false;

  constructor(db: DatabaseSync) {
    db.exec(`
      CREATE TABLE IF NOT EXISTS latest(at INTEGER PRIMARY KEY, topic TEXT, key TEXT, ms INT, gone INT, crc INT, frame BLOB, UNIQUE(topic, key));
      CREATE TABLE IF NOT EXISTS tally(id INTEGER PRIMARY KEY, rows INT, sum INT);
      INSERT OR IGNORE INTO tally VALUES(1, 0, 0)`);
    // Which row a search finds depends on SQLite's tree of pages too, which the checksums of the rows do not cover.
    const [{ quick_check: tree }] = db.prepare("PRAGMA quick_check('latest')").all() as unknown as [{ quick_check: string }];
    if (tree !== 'ok') throw damaged(`the compacted topics: ${tree}`);
    this.#statements = prepare(db);
    const counted = this.#statements.count.get() as unknown as Tally;
    const expected = this.#load();
    if (counted.rows !== expected.rows || counted.sum !== expected.sum) {
      throw damaged(
        `the compacted topics should have ${expected.rows} rows with sum ${expected.sum} and have ${counted.rows} with ${counted.sum}`,
      );
    }
  }

  /** The offset after the newest row's. */
  end(): number {
    return (this.#statements.newest.get() as { end: number }).end;
  }

  /** Offset of the first record that is there and was appended at a time or later; undefined when there is none. */
  since(ms: number): number | undefined {
    return (this.#statements.since.get(ms) as Pick<LatestRow, 'at'> | undefined)?.at;
  }

  add(first: number, n: number, ms: number, frames: Buffer): void {
    let tally = this.#load();
    let from = 0;
    for (let at = first; at < first + n; at++) {
      const frame = frames.subarray(from, (from += frameBytes(frames, from)));
      tally = this.#replace(tally, { at, ms, frame });
    }
    this.#save(tally);
  }

  /** Drops the tombstones that are a day old, but never the newest record: the head is known by it. */
  dropTombstones(nowMs: number): void {
    const dropped = this.#statements.drop.all(nowMs - tombstoneMs) as unknown as { crc: number }[];
    if (dropped.length > 0) this.#save(dropped.reduce((tally, { crc }) => less(tally, crc), this.#load()));
  }

  /**
   * Drops the records of keys that go from some topics, in some rows from `from` on; the newest record, by which the head is known, becomes a
   * tombstone. Returns where to go on; undefined at the end.
   */
  drop(from: number, topics: readonly string[], goes: (key: string) => boolean): number | undefined {
    const rows = this.#statements.some.all(from) as unknown as { at: number; topic: string; key: string; crc: number }[];
    const newest = this.end() - 1;
    let tally = this.#load();
    for (const { at, topic, key, crc } of rows) {
      if (!topics.includes(topic) || !goes(key)) continue;
      if (at === newest) {
        const { ms, frame } = check(this.#statements.from.get(at) as unknown as LatestRow);
        tally = this.#replace(tally, { at, ms, frame: tombstoneFrame(frame) });
      } else {
        this.#statements.remove.run(at);
        tally = less(tally, crc);
      }
    }
    this.#save(tally);
    return rows.length === 0 ? undefined : rows.at(-1)!.at + 1;
  }

  read(from: number, end: number, topics: readonly string[]): StoredFrames {
    const wanted = new Set(topics);
    const frames: StoredFrame[] = [];
    let bytes = 0;
    for (const it of this.#statements.from.iterate(from)) {
      const { at, ms, frame } = check(it as unknown as LatestRow);
      if (at >= end) break;
      if (!wanted.has(frameTopic(frame, 0))) continue;
      frames.push({ offset: at, ms, frame });
      bytes += frame.length;
      if (bytes >= readBytes) return { frames, next: at + 1 };
    }
    return { frames, next: end };
  }

  /** To be called after a rollback, which may have changed the tally. */
  forget(): void {
    this.#tally = undefined;
  }

  #replace(tally: Tally, { at, ms, frame }: { at: number; ms: number; frame: Buffer }): Tally {
    const { topic, key, value } = readFrame(frame, 0);
    const gone = value === null ? 1 : 0;
    const crc = rowChecksum(frame, at, ms, gone);
    const { insert, insertNew } = this.#statements;
    if (this.#wasNew && insertNew.run(at, topic, key, ms, gone, crc, frame).changes === 1) return more(tally, crc);
    const older = this.#statements.find.get(topic, key) as Pick<LatestRow, 'at' | 'crc'> | undefined;
    this.#wasNew = !older;
    if (older) this.#statements.remove.run(older.at);
    insert.run(at, topic, key, ms, gone, crc, frame);
    return more(older ? less(tally, older.crc) : tally, crc);
  }

  #load(): Tally {
    this.#tally ??= this.#statements.tally.get() as unknown as Tally | undefined;
    if (!this.#tally) throw damaged('the count of compacted rows is missing');
    return this.#tally;
  }

  #save(tally: Tally): void {
    this.#statements.setTally.run(tally.rows, tally.sum);
    this.#tally = tally;
  }
}

function prepare(
  db: DatabaseSync,
): Record<
  'find' | 'remove' | 'insert' | 'insertNew' | 'tally' | 'setTally' | 'count' | 'newest' | 'drop' | 'from' | 'some' | 'since',
  StatementSync
> {
  return {
    find: db.prepare('SELECT at, crc FROM latest WHERE topic = ? AND key = ?'),
    remove: db.prepare('DELETE FROM latest WHERE at = ?'),
    insert: db.prepare('INSERT INTO latest(at, topic, key, ms, gone, crc, frame) VALUES(?, ?, ?, ?, ?, ?, ?)'),
    insertNew: db.prepare('INSERT INTO latest(at, topic, key, ms, gone, crc, frame) VALUES(?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING'),
    tally: db.prepare('SELECT rows, sum FROM tally WHERE id = 1'),
    setTally: db.prepare('UPDATE tally SET rows = ?, sum = ? WHERE id = 1'),
    count: db.prepare('SELECT count(*) AS rows, ifnull(sum(crc), 0) % 4294967296 AS sum FROM latest NOT INDEXED'),
    newest: db.prepare('SELECT ifnull(max(at) + 1, 0) AS end FROM latest'),
    drop: db.prepare('DELETE FROM latest WHERE gone = 1 AND ms < ? AND at < (SELECT max(at) FROM latest) RETURNING crc'),
    from: db.prepare('SELECT at, ms, gone, crc, frame FROM latest WHERE at >= ? ORDER BY at'),
    some: db.prepare('SELECT at, topic, key, crc FROM latest WHERE at >= ? ORDER BY at LIMIT 10000'),
    since: db.prepare('SELECT at FROM latest WHERE ms >= ? ORDER BY at LIMIT 1'),
  };
}

const more = ({ rows, sum }: Tally, crc: number): Tally => ({ rows: rows + 1, sum: (sum + crc) % 2 ** 32 });
const less = ({ rows, sum }: Tally, crc: number): Tally => ({ rows: rows - 1, sum: (sum - crc + 2 ** 32) % 2 ** 32 });

function check({ at, ms, gone, crc, frame }: LatestRow): { at: number; ms: number; frame: Buffer } {
  if (!ArrayBuffer.isView(frame) || crc !== rowChecksum(frame, at, ms, gone)) throw damaged(`compacted row ${at} fails its checksum`);
  return { at, ms, frame: Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength) };
}
