import { noTags, pairsOf, type Tags } from '#model';

const longestVarint = 10;
const quote = 0x22;
const quotesOfTag = 4;
/** Up to so many bytes a loop copies them as quickly as `copyWithin`. */
const longestLoop = 64;

/** Avro's binary encoding into one buffer that grows and is used again and again. */
export class AvroWriter {
  #bytes = Buffer.allocUnsafe(512 * 1024);
  #view = viewOf(this.#bytes);
  #end = 0;
  /** The longs that were written last, and where: runs of one batch often share their times. */
  #lastLongs: Float64Array | undefined;
  #longsStart = 0;
  #longsEnd = 0;

  /** Forgets what was written and leaves the first `bytes` for the caller to fill. */
  restart(bytes: number): void {
    this.#end = bytes;
    this.#lastLongs = undefined;
  }

  /** What was written since `restart`, valid until the next one. */
  written(): Buffer {
    return this.#bytes.subarray(0, this.#end);
  }

  /** Lets `encode` write at a position of a buffer. It answers the new position, or minus the missing bytes when the buffer is too small. */
  with(encode: (buffer: Buffer, at: number) => number): void {
    let end = encode(this.#bytes, this.#end);
    if (end < 0) {
      this.#reserve(this.#bytes.length - end);
      end = encode(this.#bytes, this.#end);
    }
    this.#end = end;
  }

  /** @throws RangeError when `value` is not a safe integer. */
  long(value: number): void {
    this.#reserve(longestVarint);
    this.#end = putLong(this.#bytes, this.#end, value);
  }

  boolean(value: boolean): void {
    this.#reserve(1);
    this.#bytes[this.#end++] = value ? 1 : 0;
  }

  /** A union of null and one other type, null for undefined too. */
  optional<T>(value: T | null | undefined, write: (value: T, to: AvroWriter) => void): void {
    if (value === null || value === undefined) return this.#finish();
    this.long(1);
    write(value, this);
  }

  /** @throws RangeError when `value` is none of the symbols. */
  enumOf<T>(symbols: readonly T[], value: T): void {
    const at = symbols.indexOf(value);
    if (at < 0) throw new RangeError(`${String(value)} is not a symbol of the enum`);
    this.long(at);
  }

  /** A lone surrogate becomes U+FFFD. */
  string(value: string): void {
    this.#reserve(longestVarint + 3 * value.length);
    const ascii = this.#end + 1;
    if (value.length < 64 && putAscii(this.#bytes, ascii, value)) {
      this.#bytes[this.#end] = 2 * value.length;
      this.#end = ascii + value.length;
    } else {
      this.long(Buffer.byteLength(value));
      this.#end += this.#bytes.write(value, this.#end);
    }
  }

  /** A map of strings. */
  tags(tags: Tags): void {
    if (tags === noTags) return this.#finish();
    if (tags.includes('\\')) this.#writePairs(pairsOf(tags));
    else this.#copyTags(tags);
    this.#finish();
  }

  #writePairs(pairs: readonly (readonly [name: string, value: string])[]): void {
    this.#begin(pairs.length);
    for (const [name, value] of pairs) {
      this.string(name);
      this.string(value);
    }
  }

  /** Without escapes every other quote begins a text, and the next one ends it. The texts move forward, to where their lengths are written before them. */
  #copyTags(tags: Tags): void {
    this.#reserve(2 * longestVarint + 3 * tags.length);
    const bytes = this.#bytes;
    const start = this.#end + longestVarint;
    const end = start + bytes.write(tags, start);
    let quotes = 0;
    for (let at = start; at < end; at++) if (bytes[at] === quote) quotes++;
    let to = putLong(bytes, this.#end, quotes / quotesOfTag);
    for (let at = start; at < end; at++) {
      if (bytes[at] !== quote) continue;
      const from = at + 1;
      for (at = from; bytes[at] !== quote;) at++;
      to = putLong(bytes, to, at - from);
      for (let moved = from; moved < at; moved++) bytes[to++] = bytes[moved]!;
    }
    this.#end = to;
  }

  array<T>(items: readonly T[], write: (item: T, to: AvroWriter) => void): void {
    this.#begin(items.length);
    for (const item of items) write(item, this);
    this.#finish();
  }

  /** @throws RangeError when an item is not a safe integer. */
  longs(items: Float64Array): void {
    if (items === this.#lastLongs) return this.#repeatLongs();
    const start = this.#end;
    this.#begin(items.length);
    this.#reserve(longestVarint * items.length);
    const bytes = this.#bytes;
    let end = this.#end;
    for (let at = 0; at < items.length; at++) end = putLong(bytes, end, items[at]!);
    this.#end = end;
    this.#finish();
    this.#lastLongs = items;
    this.#longsStart = start;
    this.#longsEnd = this.#end;
  }

  doubles(items: Float64Array): void {
    this.#begin(items.length);
    this.#reserve(8 * items.length);
    for (let at = 0; at < items.length; at++) this.#view.setFloat64(this.#end + 8 * at, items[at]!, true);
    this.#end += 8 * items.length;
    this.#finish();
  }

  #repeatLongs(): void {
    const count = this.#longsEnd - this.#longsStart;
    this.#reserve(count);
    const bytes = this.#bytes;
    if (count > longestLoop) bytes.copyWithin(this.#end, this.#longsStart, this.#longsEnd);
    else for (let at = 0; at < count; at++) bytes[this.#end + at] = bytes[this.#longsStart + at]!;
    this.#end += count;
  }

  /** Arrays and maps are one block of items, then one of none. */
  #begin(items: number): void {
    if (items > 0) this.long(items);
  }

  /** A zero, which is also what stands for null in a union. */
  #finish(): void {
    this.#reserve(1);
    this.#bytes[this.#end++] = 0;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(2 * (this.#end + bytes));
    grown.set(this.written());
    this.#bytes = grown;
    this.#view = viewOf(grown);
  }
}

function viewOf(buffer: Buffer): DataView {
  return new DataView(buffer.buffer, buffer.byteOffset, buffer.length);
}

/** Writes zigzag in groups of 7 bits, in two halves that each fit an integer of 32 bits. Answers where it ended. */
function putLong(bytes: Buffer, start: number, value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a long that a double holds exactly`);
  const magnitude = value < 0 ? -value - 1 : value;
  const high = Math.floor(magnitude / 0x8000000);
  let rest = ((magnitude - high * 0x8000000) << 1) | (value < 0 ? 1 : 0);
  let at = start;
  if (high > 0) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    bytes[at++] = ((rest >>> 7) & 0x7f) | 0x80;
    bytes[at++] = ((rest >>> 14) & 0x7f) | 0x80;
    bytes[at++] = ((rest >>> 21) & 0x7f) | 0x80;
    rest = high;
  }
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Writes what is ASCII; false when something is not. */
function putAscii(bytes: Buffer, start: number, text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit > 0x7f) return false;
    bytes[start + at] = unit;
  }
  return true;
}
