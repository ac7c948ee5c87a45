import { TelemetryError } from './errors.js';
import { backslash, closeBrace, closeBracket, colon, comma, isDigit, openBrace, openBracket, quote } from './json-bytes.js';

/** How deep objects and arrays of a request may nest. */
export const maxJsonDepth = 64;

export const notJson = (): TelemetryError => new TelemetryError('invalid_json', 'Send one JSON value: the body cannot be parsed as JSON.');

const letterU = 0x75;
const literals: ReadonlyMap<number, Uint8Array> = new Map(['true', 'false', 'null'].map((text) => [text.charCodeAt(0), Buffer.from(text)]));
const escapable = new Set(Buffer.from('"\\/bfnrt'));
export const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** So many bytes are passed in one step. */
const stepBytes = 128 * 1024;

/** Passes JSON, byte by byte, and makes nothing of it. @throws TelemetryError `invalid_json` where it is none. */
export class JsonPasser {
  at = 0;
  #stepEnd = stepBytes;

  /** @param bytes valid UTF-8. */
  constructor(readonly bytes: Buffer) {
    if (bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)) this.at = byteOrderMark.length;
  }

  /** Goes on elsewhere, in the same step. */
  goTo(at: number): void {
    this.#stepEnd += at - this.at;
    this.at = at;
  }

  /** True when so much has been passed that it is time to give way. */
  get isDue(): boolean {
    if (this.at < this.#stepEnd) return false;
    this.#stepEnd = this.at + stepBytes;
    return true;
  }

  /** The next byte that is not white space; undefined at the end. */
  peek(): number | undefined {
    const { bytes } = this;
    let byte = bytes[this.at];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++this.at];
    return byte;
  }

  expect(byte: number): void {
    if (!this.passedIf(byte)) throw notJson();
  }

  passedIf(byte: number): boolean {
    if (this.peek() !== byte) return false;
    this.at++;
    return true;
  }

  /** Passes the beginning of what ends with `close`; false behind its end when it is empty. */
  begins(close: number): boolean {
    this.expect(openOf(close));
    return !this.passedIf(close);
  }

  /** True behind a comma, false behind `close`. */
  goesOn(close: number): boolean {
    if (this.passedIf(comma)) return true;
    this.expect(close);
    return false;
  }

  /** Passes a string, a number or a literal; false where an object or an array begins. */
  scalar(): boolean {
    const byte = this.peek();
    if (byte === openBrace || byte === openBracket) return false;
    if (byte === quote) this.string();
    else if (byte! > 0x60) this.#literal(literals.get(byte!));
    else this.#number();
    return true;
  }

  /** Passes an object or an array, in steps. @param depth of what holds it. */
  *nested(depth: number): Generator<void> {
    const closes: number[] = [];
    do {
      if (!this.scalar()) {
        if (depth + closes.length === maxJsonDepth) throw notJson();
        const close = this.bytes[this.at] === openBrace ? closeBrace : closeBracket;
        if (this.begins(close)) {
          closes.push(close);
          if (close === closeBrace) this.key();
          continue;
        }
      }
      while (closes.length > 0 && !this.goesOn(closes.at(-1)!)) closes.pop();
      if (closes.at(-1) === closeBrace) this.key();
      if (this.isDue) yield;
    } while (closes.length > 0);
  }

  key(): void {
    this.string();
    this.expect(colon);
  }

  string(): void {
    this.expect(quote);
    const { bytes } = this;
    let { at } = this;
    for (let byte = bytes[at]!; byte !== quote; byte = bytes[at]!) {
      if (!(byte >= 0x20)) throw notJson();
      if (byte === backslash) at = this.#escapeEnd(at);
      else at++;
    }
    this.at = at + 1;
  }

  #escapeEnd(start: number): number {
    const { bytes } = this;
    const kind = bytes[start + 1]!;
    if (escapable.has(kind)) return start + 2;
    if (kind !== letterU) throw notJson();
    for (let digit = 2; digit < 6; digit++) if (!isHexDigit(bytes[start + digit])) throw notJson();
    return start + 6;
  }

  #literal(literal: Uint8Array | undefined): void {
    if (!literal) throw notJson();
    for (const byte of literal) if (this.bytes[this.at++] !== byte) throw notJson();
  }

  #number(): void {
    if (this.bytes[this.at] === 0x2d) this.at++;
    if (this.bytes[this.at] === 0x30) this.at++;
    else this.#digits();
    if (this.bytes[this.at] === 0x2e) {
      this.at++;
      this.#digits();
    }
    if ((this.bytes[this.at]! | 0x20) !== 0x65) return;
    this.at++;
    if (this.bytes[this.at] === 0x2b || this.bytes[this.at] === 0x2d) this.at++;
    this.#digits();
  }

  #digits(): void {
    const { bytes } = this;
    const start = this.at;
    while (isDigit(bytes[this.at])) this.at++;
    if (this.at === start) throw notJson();
  }
}

const isHexDigit = (byte: number | undefined): boolean =>
  isDigit(byte) || (byte !== undefined && (byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

const openOf = (close: number): number => (close === closeBrace ? openBrace : openBracket);
