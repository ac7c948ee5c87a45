import type { Bucket } from '#stores';

const space = ' '.charCodeAt(0);
const newline = '\n'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const zero = '0'.charCodeAt(0);
/** What stands before the bytes of a double. */
const doubleField = (name: string): Buffer => Buffer.from(`${name}==\x10`, 'latin1');
const noBytes: Buffer = Buffer.alloc(0);
const valueField = doubleField(' value');
const minField = doubleField(' min');
const maxField = doubleField(',max');
const sumField = doubleField(',sum');

/** Rows in QuestDB's line protocol, as bytes that grow. Times are Unix milliseconds, whole and from 0 to the year 9999; doubles are finite. */
export class Lines {
  rows = 0;
  #bytes: Buffer;
  #view: DataView;
  #end = 0;
  /** The beginning of the last row of a point, up to its value: its offsets in `#bytes`, and the table and the symbols in it. */
  #head = { at: 0, end: 0, table: noBytes, symbols: noBytes };

  constructor(capacity: number) {
    this.#bytes = Buffer.allocUnsafeSlow(capacity);
    this.#view = viewOf(this.#bytes);
  }

  get length(): number {
    return this.#end;
  }

  /** Forgets all rows and keeps the room for them. */
  clear(): void {
    this.rows = 0;
    this.#end = 0;
    this.#head.symbols = noBytes;
  }

  /** What is written so far; valid until the next row. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** A row with a field `value`. */
  point(table: Buffer, symbols: Buffer, value: number, timestampMs: number): void {
    const head = this.#head;
    // Rows of a series come one after the other, and what they begin with is copied at once faster than in three parts.
    if (symbols === head.symbols && table === head.table) {
      this.#reserve(head.end - head.at + 40);
      this.#bytes.copyWithin(this.#end, head.at, head.end);
      this.#end += head.end - head.at;
    } else {
      const at = this.#end;
      this.#begin(table, symbols, 40);
      this.#end += valueField.copy(this.#bytes, this.#end);
      this.#head = { at, end: this.#end, table, symbols };
    }
    this.#double(value);
    this.#bytes[this.#end++] = space;
    this.#endRow(timestampMs);
  }

  /** A row with fields `min`, `max`, `sum` and `count`. */
  bucket(table: Buffer, symbols: Buffer, { min, max, sum, count, startMs }: Bucket): void {
    this.#begin(table, symbols, 110);
    this.#field(minField, min);
    this.#field(maxField, max);
    this.#field(sumField, sum);
    this.#end += this.#bytes.write(`,count=${count}i `, this.#end, 'latin1');
    this.#endRow(startMs);
  }

  /** Adds all rows of another. */
  append(other: Lines): void {
    this.#reserve(other.length);
    this.#bytes.set(other.bytes, this.#end);
    this.#end += other.length;
    this.rows += other.rows;
  }

  /** The symbols of a row of points, as `symbolsText` writes them. @param row counted from 0. */
  symbolsOfPoint(table: Buffer, row: number): string {
    for (let [at, from] = [0, 0]; ; at++) {
      let end = from + table.length;
      while (this.#bytes[end] !== space) end += this.#bytes[end] === backslash ? 2 : 1;
      if (at === row) return this.#bytes.toString('utf8', from + table.length, end);
      // The eight bytes of the value may be anything, also the end of a line.
      from = this.#bytes.indexOf(newline, end + valueField.length + 8) + 1;
    }
  }

  #begin(table: Buffer, symbols: Buffer, more: number): void {
    this.#reserve(table.length + symbols.length + more);
    this.#bytes.set(table, this.#end);
    this.#bytes.set(symbols, this.#end + table.length);
    this.#end += table.length + symbols.length;
  }

  #field(name: Buffer, value: number): void {
    this.#bytes.set(name, this.#end);
    this.#end += name.length;
    this.#double(value);
  }

  #double(value: number): void {
    // Minus zero is zero.
    this.#view.setFloat64(this.#end, value + 0, true);
    this.#end += 8;
  }

  #endRow(timestampMs: number): void {
    // In two parts that fit into 32 bits, with which V8 is faster.
    const high = Math.floor(timestampMs / million);
    const low = timestampMs - high * million;
    if (high > 0) this.#digits(high, widthOf(high));
    this.#digits(low, high > 0 ? 6 : widthOf(low));
    this.#bytes[this.#end++] = newline;
    this.rows++;
  }

  /** @param number whole, from 0 to below 2^31. */
  #digits(number: number, width: number): void {
    let left = number | 0;
    for (let at = this.#end + width - 1; at >= this.#end; at--) {
      const tenth = (left / 10) | 0;
      this.#bytes[at] = zero + left - 10 * tenth;
      left = tenth;
    }
    this.#end += width;
  }

  #reserve(more: number): void {
    if (this.#end + more <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(2 * this.#bytes.length, this.#end + more));
    grown.set(this.bytes);
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

const million = 1_000_000;

function widthOf(number: number): number {
  let width = 1;
  for (let least = 10; least <= number; least *= 10) width++;
  return width;
}

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
