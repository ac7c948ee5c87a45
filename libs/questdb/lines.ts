import type { PointColumns } from '#model';
import type { Bucket } from '#stores';

const space = ' '.charCodeAt(0);
const newline = '\n'.charCodeAt(0);
const backslash = '\\'.charCodeAt(0);
const zero = '0'.charCodeAt(0);
/** What stands before the bytes of a double. */
const doubleField = (name: string): Buffer => Buffer.from(`${name}==\x10`, 'latin1');
const valueField = doubleField(' value');
const minField = doubleField(' min');
const maxField = doubleField(',max');
const sumField = doubleField(',sum');

/** The most bytes of a piece, unless one row is longer. */
const pieceBytes = 1 << 17;
/** How much of its memory `clear` keeps for the next rows. */
const maxSpareBytes = 16 << 20;
/** What a row of a point may take after the head that it shares with others of its series. */
const pointBytes = 40;

/**
 * Rows in QuestDB's line protocol, as the pieces of a body: what is written is not moved when more comes. Each row is in one piece.
 * Times are Unix milliseconds, whole and from 0 to the year 9999; doubles are finite.
 */
export class Lines {
  rows = 0;
  /** The pieces with rows, of which the last one grows, and behind them pieces whose memory is free. */
  readonly #pieces: Buffer[];
  /** How many bytes of each piece with rows are written, without the last one. */
  readonly #ends: number[] = [];
  /** The sum of `#ends`. */
  #before = 0;
  #bytes: Buffer;
  #view: DataView;
  #end = 0;

  /** @param firstBytes room for the first rows. Each piece has twice as much as the one before, up to 128 KiB. */
  constructor(firstBytes = pieceBytes) {
    this.#bytes = Buffer.allocUnsafeSlow(firstBytes);
    this.#view = viewOf(this.#bytes);
    this.#pieces = [this.#bytes];
  }

  get length(): number {
    return this.#before + this.#end;
  }

  /** What is written so far; valid until the next row. */
  get pieces(): readonly Buffer[] {
    const whole = this.#ends.map((end, at) => this.#pieces[at]!.subarray(0, end));
    return [...whole, this.#bytes.subarray(0, this.#end)].filter(({ length }) => length > 0);
  }

  /** Forgets all rows, and keeps memory for the next ones. */
  clear(): void {
    this.#pieces.splice(maxSpareBytes / pieceBytes);
    this.#ends.length = 0;
    this.rows = 0;
    this.#before = 0;
    this.#write(0);
  }

  /** Rows with a field `value`, of the points of one series from one place in their columns to before another. */
  points(table: Buffer, symbols: Buffer, { timestampMs, value }: PointColumns, from = 0, to = value.length): void {
    for (let at = from; at < to;) {
      this.#begin(table, symbols, valueField.length + pointBytes);
      this.#end += valueField.copy(this.#bytes, this.#end);
      const head = table.length + symbols.length + valueField.length;
      const begin = this.#end - head;
      this.#endPoint(value[at]!, timestampMs[at]!);
      // The heads of the next rows are copied at once, which is faster than in three parts, as long as the piece has room.
      for (at++; at < to && this.#end + head + pointBytes <= this.#bytes.length; at++) {
        this.#bytes.copyWithin(this.#end, begin, begin + head);
        this.#end += head;
        this.#endPoint(value[at]!, timestampMs[at]!);
      }
    }
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
    for (const piece of other.pieces) {
      this.#reserve(piece.length);
      this.#bytes.set(piece, this.#end);
      this.#end += piece.length;
    }
    this.rows += other.rows;
  }

  /** The symbols of a row of points, as `symbolsText` writes them. @param row counted from 0. */
  symbolsOfPoint(table: Buffer, row: number): string {
    let at = 0;
    for (const piece of this.pieces) {
      for (let from = 0; from < piece.length; at++) {
        let end = from + table.length;
        while (piece[end] !== space) end += piece[end] === backslash ? 2 : 1;
        if (at === row) return piece.toString('utf8', from + table.length, end);
        // The eight bytes of the value may be anything, also the end of a line.
        from = piece.indexOf(newline, end + valueField.length + 8) + 1;
      }
    }
    throw new Error(`there are ${this.rows} rows and none at ${row}`);
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

  #endPoint(value: number, timestampMs: number): void {
    this.#double(value);
    this.#bytes[this.#end++] = space;
    this.#endRow(timestampMs);
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

  /** Makes sure that so many more bytes are in one piece. */
  #reserve(more: number): void {
    if (this.#end + more > this.#bytes.length) this.#next(more);
  }

  #next(leastBytes: number): void {
    const nextBytes = Math.max(leastBytes, Math.min(2 * this.#bytes.length, pieceBytes));
    this.#before += this.#end;
    const at = this.#ends.push(this.#end);
    if ((this.#pieces[at]?.length ?? 0) < leastBytes) this.#pieces[at] = Buffer.allocUnsafeSlow(nextBytes);
    this.#write(at);
  }

  /** Writes into this piece from its beginning on. */
  #write(at: number): void {
    this.#bytes = this.#pieces[at]!;
    this.#view = viewOf(this.#bytes);
    this.#end = 0;
  }
}

const million = 1_000_000;

function widthOf(number: number): number {
  let width = 1;
  for (let least = 10; least <= number; least *= 10) width++;
  return width;
}

const viewOf = (bytes: Buffer): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
