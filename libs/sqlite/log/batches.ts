import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { rowChecksum } from '../checksum.js';
import { damaged } from './fault.js';
import { blankFrame, frameBytes, frameKey, frameTopic, type StoredFrame, type StoredFrames } from './frame.js';

/** The records of one commit, with offsets from `first` to `first + n - 1`. `prev` is the `first` of the row before, so that a lost row is noticed. */
interface BatchRow {
  readonly first: number;
  readonly prev: number;
  readonly n: number;
  readonly ms: number;
  /** 1 when the body is compressed. */
  readonly z: number;
  readonly crc: number;
  readonly body: Uint8Array;
}

/** Smaller bodies are not compressed: a commit writes at least a page, so that would save nothing. */
const compressFromBytes = 1024;
/** Level 1 misses the short repeats between runs of few points, which costs a byte a point; levels above 2 cost more than they save. */
const level2 = { params: { [constants.ZSTD_c_compressionLevel]: 2 } };

/** A read stops after the row with which it reaches one of these. */
const readBytes = 1 << 20;
const scanBytes = 8 << 20;

/** Which records are removed from the log. */
export interface Trimming {
  /** Names of topics that keep all records; none of any other goes. */
  readonly kept: readonly string[];
  readonly goes: (key: string) => boolean;
  /** What was appended before stays, Unix milliseconds. */
  readonly sinceMs: number;
  /** Without it the records are only counted. */
  readonly confirmed: boolean;
}

export interface TrimStep {
  readonly gone: number;
  readonly kept: number;
  /** Where to go on; undefined at the end. */
  readonly next: number | undefined;
}

/** `prev` of the first row. */
const none = -1;

/** The records of topics that keep all of them: one row per commit. */
export class Batches {
  readonly #insert: StatementSync;
  readonly #next: StatementSync;
  readonly #holding: StatementSync;
  readonly #newest: StatementSync;
  readonly #since: StatementSync;
  readonly #replace: StatementSync;
  #last: number | undefined;

  constructor(db: DatabaseSync) {
    db.exec('CREATE TABLE IF NOT EXISTS batch(first INTEGER PRIMARY KEY, prev INT, n INT, ms INT, z INT, crc INT, body BLOB)');
    this.#insert = db.prepare('INSERT INTO batch(first, prev, n, ms, z, crc, body) VALUES(?, ?, ?, ?, ?, ?, ?)');
    this.#next = db.prepare('SELECT first, prev, n, ms, z, crc, body FROM batch WHERE first > ? ORDER BY first LIMIT 1');
    this.#holding = db.prepare('SELECT first, n FROM batch WHERE first <= ? ORDER BY first DESC LIMIT 1');
    this.#newest = db.prepare('SELECT first, prev, n, ms, z, crc, body FROM batch ORDER BY first DESC LIMIT 1');
    this.#since = db.prepare('SELECT first FROM batch WHERE ms >= ? ORDER BY first LIMIT 1');
    this.#replace = db.prepare('UPDATE batch SET z = ?, crc = ?, body = ? WHERE first = ?');
  }

  /** Offset of the first record that was appended at a time or later; undefined when there is none. */
  since(ms: number): number | undefined {
    return (this.#since.get(ms) as Pick<BatchRow, 'first'> | undefined)?.first;
  }

  /** The offset after the newest row's. */
  end(): number {
    const row = this.#newest.get() as BatchRow | undefined;
    if (row) check(row);
    this.#last = row?.first ?? none;
    return row ? row.first + row.n : 0;
  }

  add(first: number, n: number, ms: number, frames: Buffer): void {
    if (this.#last === undefined) this.end();
    const prev = this.#last!;
    const { z, body } = packed(frames);
    this.#insert.run(first, prev, n, ms, z, rowChecksum(body, first, prev, n, ms, z), body);
    this.#last = first;
  }

  /** To be called after a rollback, which may have removed the newest row. */
  forget(): void {
    this.#last = undefined;
  }

  /** @param skip says where the next wanted record is, from an offset on, for a reader of few records; `Infinity` when there is none. */
  read(from: number, topics: readonly string[], head: number, skip?: (from: number) => number): StoredFrames {
    const wanted = new Set(topics);
    const found: StoredFrame[] = [];
    let [read, scanned] = [0, 0];
    let next = skip?.(from) ?? from;
    let prev = this.#before(next);
    while (read < readBytes && scanned < scanBytes) {
      const row = this.#rowAfter(prev);
      if (!row) return { frames: found, next: head };
      const frames = unpack(row);
      const bytes = pick(row, frames, from, wanted, found);
      if (skip && bytes === 0) throw damaged(`there is no dead letter at offset ${next}`);
      read += bytes;
      scanned += frames.length;
      prev = row.first;
      next = row.first + row.n;
      if (skip) prev = this.#before((next = skip(next)));
    }
    return { frames: found, next: Math.min(next, head) };
  }

  /** The places of the records of some topics, from an offset on. Damaged rows are left to whoever reads them. */
  *find(from: number, isWanted: (topic: string) => boolean): Generator<{ readonly topic: string; readonly offset: number }> {
    for (let row = this.#after(this.#before(from)); row; row = this.#after(row.first)) {
      const frames = framesOf(row);
      for (let [offset, at] = [row.first, 0]; at < frames.length; offset++, at += frameBytes(frames, at)) {
        const topic = frameTopic(frames, at);
        if (isWanted(topic)) yield { topic, offset };
      }
    }
  }

  /** Puts empty records in the places of those that go, in some rows after the one that begins at `after`. */
  trim(after: number, { kept: topics, goes, sinceMs, confirmed }: Trimming): TrimStep {
    let [gone, kept, scanned, prev] = [0, 0, 0, after];
    while (scanned < scanBytes) {
      const row = this.#rowAfter(prev);
      if (!row) return { gone, kept, next: undefined };
      const { first, n, ms } = row;
      const all = unpack(row);
      const before = gone;
      const left = splitFrames(all, n).map((frame) => {
        const key = frameKey(frame, 0);
        // A record without a key has gone already.
        if (key === '' || !topics.includes(frameTopic(frame, 0))) return frame;
        const isGone = ms >= sinceMs && goes(key);
        if (isGone) gone++;
        else kept++;
        return isGone ? blankFrame(frame) : frame;
      });
      if (gone > before && confirmed) {
        const { z, body } = packed(Buffer.concat(left));
        this.#replace.run(z, rowChecksum(body, first, row.prev, n, ms, z), body, first);
      }
      scanned += all.length;
      prev = first;
    }
    return { gone, kept, next: prev };
  }

  #rowAfter(first: number): BatchRow | undefined {
    const row = this.#after(first);
    if (row && row.prev !== first) throw damaged(`the row after offset ${first} is missing, found row ${row.first}`);
    return row;
  }

  #after(first: number): BatchRow | undefined {
    return this.#next.get(first) as BatchRow | undefined;
  }

  /** The `first` of the row before the one that holds `from`. */
  #before(from: number): number {
    const row = this.#holding.get(from) as Pick<BatchRow, 'first' | 'n'> | undefined;
    if (!row) return none;
    if (row.first + row.n <= from) return row.first;
    return (this.#holding.get(row.first - 1) as Pick<BatchRow, 'first'> | undefined)?.first ?? none;
  }
}

function packed(frames: Buffer): Pick<BatchRow, 'z' | 'body'> {
  return frames.length >= compressFromBytes ? { z: 1, body: zstdCompressSync(frames, level2) } : { z: 0, body: frames };
}

function splitFrames(frames: Buffer, n: number): Buffer[] {
  let at = 0;
  return Array.from({ length: n }, () => frames.subarray(at, (at += frameBytes(frames, at))));
}

function check(row: BatchRow): void {
  const { first, prev, n, ms, z, crc, body } = row;
  if (!ArrayBuffer.isView(body) || crc !== rowChecksum(body, first, prev, n, ms, z)) throw damaged(`row ${first} fails its checksum`);
}

function unpack(row: BatchRow): Buffer {
  check(row);
  if (row.z === 1) return zstdDecompressSync(row.body);
  return Buffer.from(row.body.buffer, row.body.byteOffset, row.body.byteLength);
}

/** The frames of a row; none when it is damaged. */
function framesOf(row: BatchRow): Buffer {
  try {
    return unpack(row);
  } catch {
    return Buffer.of();
  }
}

/** Collects the wanted records of a row and returns their bytes. */
function pick(row: BatchRow, frames: Buffer, from: number, wanted: ReadonlySet<string>, into: StoredFrame[]): number {
  let [at, bytes] = [0, 0];
  for (let offset = row.first; offset < row.first + row.n; offset++) {
    const end = at + frameBytes(frames, at);
    if (offset >= from && wanted.has(frameTopic(frames, at))) {
      into.push({ offset, ms: row.ms, frame: frames.subarray(at, end) });
      bytes += end - at;
    }
    at = end;
  }
  return bytes;
}
