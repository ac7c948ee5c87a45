import { Flaws } from './flaws.js';
import { backslash, closeBrace, closeBracket, colon, comma, openBrace, openBracket, quote } from './json-bytes.js';
import { unusual, type JsonCursor } from './json-cursor.js';
import { jsonValue } from './json-value.js';
import { maxTagBytes, maxTags, noTags, type Tags } from './point.js';
import { readTags } from './tags.js';

/** How deep in the body the inside of a point is. */
export const pointDepth = 3;

/** 16 tags without escapes are shorter. Longer text goes to the slow parser, which stops at the 17th tag. */
const maxTagsBytes = 16 * 1024;

/** Tags as they are kept, while they are put together; see `tagsKey`. */
const kept = Buffer.allocUnsafe(2 * maxTagsBytes);
/** The names and values of the tags that are read now, in the order of the names: where each begins and ends. */
const names = new Int32Array(2 * maxTags);
const values = new Int32Array(2 * maxTags);

/**
 * The tags of one body. Most are written as they are kept but for a few brackets, so their bytes are copied: an object for each, of names that may
 * never come again, would cost ten times as much.
 */
export class BodyTags {
  readonly #numbers = new Map<Tags, number>([[noTags, 0]]);
  readonly #tags: Tags[] = [noTags];
  /** Of the texts that had to be parsed. */
  readonly #ofTexts = new Map<string, Tags>();
  /** By number: where the tags stood first, and which came behind them the last time. Usually the same come again, or those that came behind them. */
  readonly #starts = [0];
  readonly #ends = [0];
  readonly #nexts = [0];
  #last = 0;

  /** How many different tags there were. */
  get size(): number {
    return this.#tags.length;
  }

  at(number: number): Tags {
    return this.#tags[number]!;
  }

  /** The number of the tags that stand here; 0 stands for none. @throws `unusual` when they are wrong. */
  read(json: JsonCursor): number {
    if (json.peek() !== openBrace) throw unusual;
    const last = this.#last;
    if (this.#comeAgain(json, last)) return last;
    const next = this.#nexts[last]!;
    return (this.#last = this.#comeAgain(json, next) ? next : (this.#nexts[last] = this.#read(json)));
  }

  #read(json: JsonCursor): number {
    const start = json.at;
    const tags = this.#copied(json) ?? this.#parsed(json, start);
    const known = this.#numbers.get(tags);
    if (known !== undefined) return known;
    const number = this.#tags.push(tags) - 1;
    this.#numbers.set(tags, number);
    this.#starts.push(start);
    this.#ends.push(json.at);
    this.#nexts.push(0);
    return number;
  }

  /** Passes these tags where they stand again as they were written first. */
  #comeAgain(json: JsonCursor, number: number): boolean {
    const end = this.#ends[number]!;
    return end > 0 && json.repeats(this.#starts[number]!, end);
  }

  /** Undefined when the tags have to be parsed. */
  #copied(json: JsonCursor): Tags | undefined {
    const end = json.at++ + maxTagsBytes;
    let count = 0;
    if (json.peek() === closeBrace) json.at++;
    else
      do {
        const name = textAt(json);
        if (name < 0 || count === maxTags || name > end) return undefined;
        const nameEnd = json.at - 1;
        json.expect(colon);
        const value = textAt(json);
        if (value < 0) return undefined;
        count = insert(json.bytes, count, name, nameEnd, value, json.at - 1);
      } while (json.goesOn(closeBrace));
    return count === 0 ? noTags : joined(json.bytes, count);
  }

  #parsed(json: JsonCursor, start: number): Tags {
    json.at = start;
    json.skipNested(pointDepth);
    if (json.at - start > maxTagsBytes) throw unusual;
    const text = json.text(start, json.at);
    const known = this.#ofTexts.get(text);
    if (known !== undefined) return known;
    const flaws = new Flaws();
    const tags = readTags(valueIn(json.bytes.subarray(start, json.at)), 0, flaws);
    if (flaws.any) throw unusual;
    this.#ofTexts.set(text, tags);
    return tags;
  }
}

/** Inserts a tag where it belongs among `count` others, and answers how many there are then: of equal names the last one holds. */
function insert(bytes: Buffer, count: number, name: number, nameEnd: number, value: number, valueEnd: number): number {
  let at = count;
  for (; at > 0; at--) {
    const order = compare(bytes, names[2 * at - 2]!, names[2 * at - 1]!, name, nameEnd);
    if (order > 0) continue;
    if (order === 0) {
      values[2 * at - 2] = value;
      values[2 * at - 1] = valueEnd;
      return count;
    }
    break;
  }
  if (at < count) {
    names.copyWithin(2 * at + 2, 2 * at, 2 * count);
    values.copyWithin(2 * at + 2, 2 * at, 2 * count);
  }
  names[2 * at] = name;
  names[2 * at + 1] = nameEnd;
  values[2 * at] = value;
  values[2 * at + 1] = valueEnd;
  return count + 1;
}

function joined(bytes: Buffer, count: number): Tags {
  let length = 0;
  for (let tag = 0; tag < 2 * count; tag += 2) {
    kept[length++] = tag === 0 ? openBracket : comma;
    kept[length++] = openBracket;
    length = keepText(bytes, names[tag]!, names[tag + 1]!, length);
    kept[length++] = comma;
    length = keepText(bytes, values[tag]!, values[tag + 1]!, length);
    kept[length++] = closeBracket;
  }
  kept[length++] = closeBracket;
  return kept.toString('utf8', 0, length);
}

/** Passes a string and answers where it begins, behind the quote; negative when it has an escape or more bytes than a tag may have. */
function textAt(json: JsonCursor): number {
  json.expect(quote);
  const { bytes, at: start } = json;
  let at = start;
  for (let byte = bytes[at]!; byte !== quote; byte = bytes[++at]!) {
    if (!(byte >= 0x20)) throw unusual;
    if (byte === backslash || at - start >= maxTagBytes) return -1;
  }
  json.at = at + 1;
  return start;
}

/** Puts a text with quotes around it at `start` of what is kept, and answers where it ends. */
function keepText(bytes: Buffer, from: number, to: number, start: number): number {
  let end = start;
  kept[end++] = quote;
  for (let at = from; at < to; at++) kept[end++] = bytes[at]!;
  kept[end++] = quote;
  return end;
}

/** Orders two texts as JavaScript does, by their UTF-16. */
function compare(bytes: Buffer, a: number, aEnd: number, b: number, bEnd: number): number {
  const length = Math.min(aEnd - a, bEnd - b);
  for (let at = 0; at < length; at++) {
    const [left, right] = [bytes[a + at]!, bytes[b + at]!];
    if (left !== right) return rank(left) - rank(right);
  }
  return aEnd - a - (bEnd - b);
}

/** Moves the first bytes of U+E000 to U+FFFF behind those of what lies beyond, which is two lower units in UTF-16. */
function rank(byte: number): number {
  if (byte < 0xee) return byte;
  return byte < 0xf0 ? byte + 0x10 : byte;
}

function valueIn(bytes: Buffer): unknown {
  try {
    return jsonValue(bytes);
  } catch {
    throw unusual;
  }
}
