import { zstdDecompressSync } from 'node:zlib';
import { TelemetryError } from '#model';
import { rowChecksum } from '../checksum.js';
import { pack } from '../packing.js';
import { ByteReader, ByteWriter } from './bytes.js';

/** A place in the order of a run: entries ascend by key, and by time within a key. */
export interface RunPlace {
  readonly key: number;
  readonly timeMs: number;
}

export const isBefore = (a: RunPlace, key: number, timeMs: number): boolean => a.key < key || (a.key === key && a.timeMs < timeMs);

/**
 * One block as a row of the table. It is found by `last`. Points of one time and many tag sets may fill several blocks that end at one place;
 * those are told apart by `number`: the blocks of a kind are numbered from 0 on.
 */
export interface BlockRow {
  readonly run: number;
  /** What it holds: raw points (0), or rollup rows of segment `s` of its run at one minute (2s + 1) or one hour (2s + 2). */
  readonly kind: number;
  readonly number: number;
  readonly last: RunPlace;
  readonly body: Uint8Array;
}

const headBytes = 48;
const fullBytes = 24 * 1024;

/** Covers the other columns of the row too, so that a block in the wrong row is noticed like a flipped bit. */
function checksum({ run, kind, number, last }: Omit<BlockRow, 'body'>, rest: Uint8Array): number {
  return rowChecksum(rest, run, kind, number, last.key, last.timeMs);
}

/** Packs entries, which come in ascending order, into blocks of some kilobytes. */
export class BlockWriter {
  blocks = 0;
  /** Where the last written block ends. The next block repeats it, so that readers notice when a block is missing. */
  last: RunPlace = { key: -1, timeMs: 0 };
  /** Takes the columns of the entry that the next `entry` closes. */
  readonly columns = new ByteWriter();
  readonly #heads = new ByteWriter();
  #entries = 0;
  #begun = 0;
  // Keys and times of the entries; NaN, and so doubles from the beginning, while there is none.
  #firstKey = NaN;
  #firstMs = NaN;
  #lastKey = NaN;
  #lastFirstMs = NaN;
  #lastMs = NaN;

  constructor(
    private readonly run: number,
    private readonly kind: number,
    private readonly insert: (row: BlockRow) => void,
  ) {}

  /** Closes an entry: `count` rows of one key from `firstMs` to `lastMs`, whose columns were written to `columns`; the reader of the entry gets `flags`. */
  entry(key: number, count: number, flags: number, firstMs: number, lastMs: number): void {
    if (this.#entries === 0) {
      this.#firstKey = key;
      this.#firstMs = firstMs;
      this.#lastKey = key;
      this.#lastFirstMs = firstMs;
    }
    this.#heads.varint(key - this.#lastKey);
    this.#heads.varint(count);
    this.#heads.varint(flags);
    this.#heads.zigzag(firstMs - this.#lastFirstMs);
    this.#heads.varint(lastMs - firstMs);
    this.#heads.varint(this.columns.length - this.#begun);
    this.#entries++;
    this.#begun = this.columns.length;
    this.#lastKey = key;
    this.#lastFirstMs = firstMs;
    this.#lastMs = lastMs;
    if (this.#heads.length + this.columns.length >= fullBytes) this.flush();
  }

  /** Writes the block that is not full yet, if there is one. */
  flush(): void {
    if (this.#entries === 0) return;
    const headsLength = this.#heads.length;
    this.#heads.append(this.columns.written());
    const plain = this.#heads.written();
    const last = { key: this.#lastKey, timeMs: this.#lastMs };
    pack(plain, (packed) => this.#insert(last, plain.length, headsLength, packed));
    this.last = last;
    this.blocks++;
    this.columns.clear();
    this.#heads.clear();
    this.#entries = 0;
    this.#begun = 0;
  }

  #insert(last: RunPlace, plainLength: number, headsLength: number, packed: Uint8Array): void {
    const body = new Uint8Array(headBytes + packed.length);
    const head = new DataView(body.buffer, 0, headBytes);
    head.setUint32(4, plainLength, true);
    head.setUint32(8, headsLength, true);
    head.setUint32(12, this.#entries, true);
    for (const [at, value] of [this.last.key, this.last.timeMs, this.#firstKey, this.#firstMs].entries()) {
      head.setFloat64(16 + 8 * at, value, true);
    }
    body.set(packed, headBytes);
    const row = { run: this.run, kind: this.kind, number: this.blocks, last };
    head.setUint32(0, checksum(row, body.subarray(4)), true);
    this.insert({ ...row, body });
  }
}

/** A block that is read entry by entry: `next` moves to an entry, whose head is then in the fields. */
export class Block {
  readonly number: number;
  /** End of the block before it. */
  readonly before: RunPlace;
  readonly first: RunPlace;
  readonly last: RunPlace;
  key = 0;
  count = 0;
  flags = 0;
  firstMs = 0;
  lastMs = 0;
  /** Where the entry's columns are in `bytes`. */
  columnsAt = 0;
  readonly #columns = new ByteReader();
  /** End of the entry before it. */
  #passedKey = 0;
  #passedMs = 0;
  #bytes: Uint8Array | undefined;
  #heads = new ByteReader();
  #left = 0;
  #nextColumnsAt = 0;

  /** @throws TelemetryError `store_corrupt` when the row is not as it was written. */
  constructor(private readonly row: BlockRow) {
    const { body, number, last } = row;
    const head = new DataView(body.buffer, body.byteOffset, body.byteLength);
    if (body.length < headBytes || head.getUint32(0, true) !== checksum(row, body.subarray(4))) throw damaged(row);
    this.before = { key: head.getFloat64(16, true), timeMs: head.getFloat64(24, true) };
    this.first = { key: head.getFloat64(32, true), timeMs: head.getFloat64(40, true) };
    this.number = number;
    this.last = last;
    this.rewind();
  }

  /** All entries, unpacked. */
  get bytes(): Uint8Array {
    this.#bytes ??= this.#unpack();
    return this.#bytes;
  }

  /** A reader of the current entry's columns; valid until the next call. */
  get columns(): ByteReader {
    this.#columns.bytes = this.bytes;
    this.#columns.at = this.columnsAt;
    return this.#columns;
  }

  /** Goes back to before the first entry. */
  rewind(): void {
    const { body } = this.row;
    const head = new DataView(body.buffer, body.byteOffset, headBytes);
    this.#heads.at = 0;
    this.#nextColumnsAt = head.getUint32(8, true);
    this.#left = head.getUint32(12, true);
    this.key = this.first.key;
    this.firstMs = this.first.timeMs;
    this.lastMs = -Infinity;
    this.count = 0;
    this.#passedKey = this.before.key;
    this.#passedMs = this.before.timeMs;
  }

  /** Moves to the first entry that ends at or after a place, which is in this block; stays where it is when it is there. */
  moveTo(key: number, timeMs: number): void {
    const passed = this.#passedKey > key || (this.#passedKey === key && this.#passedMs >= timeMs);
    if (passed) this.rewind();
    while (this.key < key || (this.key === key && this.lastMs < timeMs)) this.next();
  }

  next(): boolean {
    if (this.#left === 0) return false;
    this.#left--;
    this.#passedKey = this.key;
    this.#passedMs = this.lastMs;
    this.#heads.bytes = this.bytes;
    this.key += this.#heads.varint();
    this.count = this.#heads.varint();
    this.flags = this.#heads.varint();
    this.firstMs += this.#heads.zigzag();
    this.lastMs = this.firstMs + this.#heads.varint();
    this.columnsAt = this.#nextColumnsAt;
    this.#nextColumnsAt += this.#heads.varint();
    return true;
  }

  #unpack(): Uint8Array {
    const { body } = this.row;
    const plainBytes = new DataView(body.buffer, body.byteOffset).getUint32(4, true);
    return zstdDecompressSync(body.subarray(headBytes), { chunkSize: Math.max(64, plainBytes + 1) });
  }
}

/** The error for a block that is not as it was written, or not where it must be. */
export function damaged({ run, kind, last }: Pick<BlockRow, 'run' | 'kind' | 'last'>): TelemetryError {
  return new TelemetryError('store_corrupt', `Block (${last.key}, ${last.timeMs}) of kind ${kind} in run ${run} of the store is damaged.`);
}
