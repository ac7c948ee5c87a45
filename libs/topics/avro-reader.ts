import { type ColumnRoom, noTags, tagsOfPairs, type Tags } from '#model';

/**
 * Reads Avro's binary encoding. Everything throws on bytes that end too early or announce more than they can hold, before anything of
 * the announced size is made.
 */
export class AvroReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #one = new Float64Array(1);
  #at = 0;

  /** @param room where columns are. */
  constructor(
    bytes: Buffer,
    private readonly room: ColumnRoom,
  ) {
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** @throws Error when bytes are left. */
  end(): void {
    if (this.#at !== this.#bytes.length) throw new Error('the record goes on behind its end');
  }

  long(): number {
    this.#readLong(this.#one, 0);
    return this.#one[0]!;
  }

  /** Into a column, because V8 may make an object of each double that a function returns. */
  #readLong(column: Float64Array, place: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    let byte = bytes[at++]!;
    let low = byte & 0x7f;
    for (let shift = 7; byte > 0x7f && shift < 28; shift += 7) {
      byte = bytes[at++]!;
      low |= (byte & 0x7f) << shift;
    }
    let high = 0;
    for (let unit = 1; byte > 0x7f && at - this.#at < 10; unit *= 128) {
      byte = bytes[at++]!;
      high += (byte & 0x7f) * unit;
    }
    if (!(byte <= 0x7f)) throw new Error('the record ends within a number, or holds one that is too long');
    this.#at = at;
    const magnitude = high * 0x8000000 + (low >>> 1);
    const value = low & 1 ? -magnitude - 1 : magnitude;
    if (!Number.isSafeInteger(value)) throw new Error('the record holds a long that a double does not hold exactly');
    column[place] = value;
  }

  int(): number {
    const value = this.long();
    if (value !== (value | 0)) throw new Error('the record holds an int beyond 32 bits');
    return value;
  }

  boolean(): boolean {
    const byte = this.#bytes[this.#at++];
    if (byte !== 0 && byte !== 1) throw new Error('the record holds a boolean that is neither 0 nor 1');
    return byte === 1;
  }

  enumOf<T>(symbols: readonly T[]): T {
    const symbol = symbols[this.long()];
    if (symbol === undefined) throw new Error('the record holds an enum that has no such symbol');
    return symbol;
  }

  /** A union of null and one other type. */
  optional<T>(read: () => T): T | null {
    const branch = this.long();
    if (branch !== 0 && branch !== 1) throw new Error('the record holds a union that has no such type');
    return branch === 1 ? read() : null;
  }

  string(): string {
    const length = this.long();
    const start = this.#at;
    if (length < 0 || length > this.#bytes.length - start) throw new Error('the record ends within a string');
    this.#at = start + length;
    return this.#bytes.toString('utf8', start, this.#at);
  }

  /** A map of strings. */
  tags(): Tags {
    if (this.#bytes[this.#at] === 0) {
      this.#at++;
      return noTags;
    }
    return tagsOfPairs(this.array(2, () => [this.string(), this.string()] as const));
  }

  /** @param leastBytes that an item takes, at least 1. */
  array<T>(leastBytes: number, read: () => T): T[] {
    const items: T[] = [];
    for (let count = this.#block(leastBytes); count > 0; count = this.#block(leastBytes)) {
      for (let at = 0; at < count; at++) items.push(read());
    }
    return items;
  }

  longs(): Float64Array {
    return this.#column(1, (column) => {
      for (let at = 0; at < column.length; at++) this.#readLong(column, at);
    });
  }

  doubles(): Float64Array {
    return this.#column(8, (column) => {
      const start = this.#at;
      for (let at = 0; at < column.length; at++) column[at] = this.#view.getFloat64(start + 8 * at, true);
      this.#at = start + 8 * column.length;
    });
  }

  /** Most columns are one block; others are put together at the end. */
  #column(leastBytes: number, fill: (block: Float64Array) => void): Float64Array {
    const blocks: Float64Array[] = [];
    for (let count = this.#block(leastBytes); count > 0; count = this.#block(leastBytes)) {
      const block = this.room.column(count);
      fill(block);
      blocks.push(block);
    }
    return blocks.length === 1 ? blocks[0]! : joined(blocks);
  }

  /** Items of the block that begins here, each at least `leastBytes` long; 0 is the end. */
  #block(leastBytes: number): number {
    let count = this.long();
    if (count < 0) {
      count = -count;
      this.long();
    }
    if (count * leastBytes > this.#bytes.length - this.#at) throw new Error('the record ends within an array or a map');
    return count;
  }
}

function joined(blocks: readonly Float64Array[]): Float64Array {
  const column = new Float64Array(blocks.reduce((length, block) => length + block.length, 0));
  let at = 0;
  for (const block of blocks) {
    column.set(block, at);
    at += block.length;
  }
  return column;
}
