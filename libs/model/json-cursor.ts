import { backslash, behindSame, closeBrace, closeBracket, comma, isDigit, openBrace, openBracket, quote } from './json-bytes.js';
import { JsonPasser, maxJsonDepth } from './json-passer.js';
import type { Name, NameTable } from './name-table.js';

/** Thrown when the slow parser has to read a body. There is one of it: to make a stack trace would cost more than the reading. */
export const unusual = new Error('the body has none of the usual shapes');

const minus = 0x2d;
const decimalPoint = 0x2e;
const letterN = 0x6e;

/** Longer strings, objects and arrays go to the slow parser, which reads them in steps. */
export const maxValueBytes = 32 * 1024;

/** An integer of so many digits fits 32 bits: those are multiplied more quickly than a double. */
const shortDigits = 9;
/** A number of at most so many digits is an integer divided by one of these powers, and a double holds both exactly. */
const exactDigits = 15;
const powersOf10 = Array.from({ length: exactDigits + 1 }, (_, power) => 10 ** power);

/** Goes through JSON byte by byte. Whatever is not as expected throws `unusual`; `at` then stands somewhere. */
export class JsonCursor {
  at = 0;
  /** What `readNumber` read last. V8 would make an object of a number that is returned. */
  number = 0;
  /** What `name` read last. */
  lastName: Name | undefined;
  #lastKey: Name | undefined;
  #passer: JsonPasser | undefined;
  #view: DataView | undefined;

  /** @param bytes valid UTF-8. */
  constructor(
    readonly bytes: Buffer,
    readonly names: NameTable,
  ) {}

  get view(): DataView {
    return (this.#view ??= viewOf(this.bytes));
  }

  /** The next byte that is not white space; undefined at the end. */
  peek(): number | undefined {
    const byte = this.bytes[this.at]!;
    return byte > 0x20 ? byte : this.#skipSpace();
  }

  expect(byte: number): void {
    if (this.peek() !== byte) throw unusual;
    this.at++;
  }

  /** True behind a comma, false behind `close`. */
  goesOn(close: number): boolean {
    const byte = this.peek();
    this.at++;
    if (byte === comma) return true;
    if (byte === close) return false;
    throw unusual;
  }

  /** Passes bytes that are the same as those from `start` to `end`; false, and passes none, where others stand here. */
  repeats(start: number, end: number): boolean {
    const { view } = this;
    const behind = behindSame(view, this.at, view, start, end - start, this.bytes.length);
    if (behind < 0) return false;
    this.at = behind;
    return true;
  }

  /** A string without escapes of at most 256 bytes, which is not a key. */
  name(): Name {
    return (this.lastName = this.#name(this.lastName));
  }

  /** As `name`, for a key. */
  key(): Name {
    return (this.#lastKey = this.#name(this.#lastKey));
  }

  /** @param last the name before it: the table learns which name follows it. */
  #name(last: Name | undefined): Name {
    this.expect(quote);
    const name = this.names.nameAt(this.bytes, this.view, this.at, last);
    if (!name) throw unusual;
    this.at += name.length;
    return name;
  }

  atNumber(): boolean {
    const byte = this.peek();
    return byte === minus || isDigit(byte);
  }

  /** Reads a number that is finite as a double into `number`; exact, since the integer of its digits is divided, and so rounded, once. */
  readNumber(): void {
    const { bytes } = this;
    const start = this.at;
    const negative = bytes[start] === minus;
    const first = negative ? start + 1 : start;
    let at = first;
    let digit = bytes[at]! ^ 0x30;
    let short = 0;
    for (const end = at + shortDigits; digit <= 9 && at < end; digit = bytes[++at]! ^ 0x30) short = short * 10 + digit;
    let integer = short;
    for (; digit <= 9; digit = bytes[++at]! ^ 0x30) integer = integer * 10 + digit;
    let digits = at - first;
    if (digits === 0 || (digits > 1 && bytes[first] === 0x30)) throw unusual;
    let decimals = 0;
    if (bytes[at] === decimalPoint) {
      const behind = ++at;
      digit = bytes[at]! ^ 0x30;
      if (digits < shortDigits) {
        for (const end = at + shortDigits - digits; digit <= 9 && at < end; digit = bytes[++at]! ^ 0x30) short = short * 10 + digit;
        integer = short;
      }
      for (; digit <= 9; digit = bytes[++at]! ^ 0x30) integer = integer * 10 + digit;
      decimals = at - behind;
      if (decimals === 0) throw unusual;
      digits += decimals;
    }
    this.at = at;
    if (digits > exactDigits || isE(bytes[at])) return this.#readLongNumber(start);
    const value = integer / powersOf10[decimals]!;
    this.number = negative ? -value : value;
  }

  /** True behind a null, false at anything else. */
  passedNull(): boolean {
    if (this.peek() !== letterN) return false;
    if (this.text(this.at, this.at + 4) !== 'null') throw unusual;
    this.at += 4;
    return true;
  }

  /** Passes any value and checks it. @param depth of the object or array that holds it. */
  pass(depth: number): void {
    if (this.atNumber()) return this.readNumber();
    this.#passer ??= new JsonPasser(this.bytes);
    this.#passer.goTo(this.at);
    try {
      if (!this.#passer.scalar()) for (const _ of this.#passer.nested(depth)) this.#checkBytes(this.#passer.at);
    } catch {
      throw unusual;
    }
    this.#checkBytes(this.#passer.at);
    this.at = this.#passer.at;
  }

  /** Passes what begins like a string. Whether it is one shows only when it is parsed. */
  skipString(): void {
    this.at = this.#stringEnd(this.at, this.#end());
  }

  /** Passes what begins like an object or an array. Whether it is one shows only when it is parsed. @param depth of what holds it. */
  skipNested(depth: number): void {
    this.at = this.#nestedEnd(depth, this.#end());
  }

  text(start: number, end: number): string {
    return this.bytes.toString('utf8', start, end);
  }

  /** Where a value that begins here ends at the latest. */
  #end(): number {
    return Math.min(this.bytes.length, this.at + maxValueBytes);
  }

  #checkBytes(end: number): void {
    if (end > this.#end()) throw unusual;
  }

  #nestedEnd(depth: number, end: number): number {
    const { bytes } = this;
    let open = depth;
    for (let at = this.at; at < end; at++) {
      const byte = bytes[at];
      if (byte === quote) at = this.#stringEnd(at, end) - 1;
      else if (byte === openBrace || byte === openBracket) {
        if (++open > maxJsonDepth) throw unusual;
      } else if ((byte === closeBrace || byte === closeBracket) && --open === depth) return at + 1;
    }
    throw unusual;
  }

  #stringEnd(start: number, end: number): number {
    const { bytes } = this;
    for (let at = start + 1; at < end; at++) {
      if (bytes[at] === quote) return at + 1;
      if (bytes[at] === backslash) at++;
    }
    throw unusual;
  }

  #readLongNumber(start: number): void {
    if (isE(this.bytes[this.at])) this.#skipExponent();
    const value = Number(this.text(start, this.at));
    if (!Number.isFinite(value)) throw unusual;
    this.number = value;
  }

  #skipExponent(): void {
    this.at++;
    if (isSign(this.bytes[this.at])) this.at++;
    if (!isDigit(this.bytes[this.at])) throw unusual;
    while (isDigit(this.bytes[this.at])) this.at++;
  }

  #skipSpace(): number | undefined {
    while (isSpace(this.bytes[this.at])) this.at++;
    return this.bytes[this.at];
  }
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length);

const isSpace = (byte: number | undefined): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isE = (byte: number | undefined): boolean => byte === 0x45 || byte === 0x65;
const isSign = (byte: number | undefined): boolean => byte === 0x2b || byte === minus;
