import { backslash, closeBrace, closeBracket, colon, comma, isDigit, openBrace, openBracket, quote } from './json-bytes.js';
import { notJson } from './json.js';

const letterU = 0x75;
const literals: ReadonlyMap<number, Uint8Array> = new Map(['true', 'false', 'null'].map((text) => [text.charCodeAt(0), Buffer.from(text)]));
const escapable = new Set(Buffer.from('"\\/bfnrt'));
const byteOrderMark = Buffer.of(0xef, 0xbb, 0xbf);

/** Passes JSON, byte by byte, and makes nothing of it. @throws TelemetryError `invalid_json` where it is none. */
export class JsonPasser {
  at = 0;

  /** @param bytes valid UTF-8, nested so little that a function may call itself as deep. */
  constructor(readonly bytes: Buffer) {
    if (bytes.subarray(0, byteOrderMark.length).equals(byteOrderMark)) this.at = byteOrderMark.length;
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

  /** True behind a comma, false behind `close`. */
  goesOn(close: number): boolean {
    if (this.passedIf(comma)) return true;
    this.expect(close);
    return false;
  }

  value(): void {
    const byte = this.peek();
    if (byte === quote) this.string();
    else if (byte === openBrace) this.#members();
    else if (byte === openBracket) this.#elements();
    else if (byte! > 0x60) this.#literal(literals.get(byte!));
    else this.#number();
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

  #members(): void {
    this.expect(openBrace);
    if (this.passedIf(closeBrace)) return;
    do {
      this.string();
      this.expect(colon);
      this.value();
    } while (this.goesOn(closeBrace));
  }

  #elements(): void {
    this.expect(openBracket);
    if (this.passedIf(closeBracket)) return;
    do this.value();
    while (this.goesOn(closeBracket));
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
