import { Flaws } from './flaws.js';
import { openBrace } from './json-bytes.js';
import { parsed, unusual, type JsonCursor } from './json-cursor.js';
import type { Tags } from './point.js';
import { noTags, readTags } from './tags.js';

/** How deep in the body the inside of a point is. */
export const pointDepth = 3;

/** 16 tags without escapes are shorter. Longer text goes to the slow parser, which stops at the 17th tag. */
const maxTagsBytes = 16 * 1024;

/** The tags of one body. Each text of tags is read once and gets a number; 0 stands for no tags. */
export class BodyTags {
  readonly #numbers = new Map<string, number>();
  readonly #tags: Tags[] = [noTags];
  /** Where the last tags stand, and their number: the next tags are usually the same. */
  #start = 0;
  #end = 0;
  #number = 0;

  /** How many different texts of tags there were. */
  get size(): number {
    return this.#numbers.size;
  }

  at(number: number): Tags {
    return this.#tags[number]!;
  }

  /** The number of the tags that stand here. @throws `unusual` when they are wrong. */
  read(json: JsonCursor): number {
    if (json.peek() !== openBrace) throw unusual;
    if (this.#isLastAgain(json)) {
      json.at += this.#end - this.#start;
      return this.#number;
    }
    this.#start = json.at;
    json.skipNested(pointDepth);
    this.#end = json.at;
    if (this.#end - this.#start > maxTagsBytes) throw unusual;
    const text = json.text(this.#start, this.#end);
    this.#number = this.#numbers.get(text) ?? this.#add(text);
    return this.#number;
  }

  #isLastAgain({ bytes, at }: JsonCursor): boolean {
    const ahead = at - this.#start;
    for (let last = this.#start; last < this.#end; last++) if (bytes[last] !== bytes[last + ahead]) return false;
    return this.#end > 0;
  }

  #add(text: string): number {
    const flaws = new Flaws();
    const tags = readTags(parsed(text), 0, flaws);
    if (flaws.any) throw unusual;
    const number = this.#tags.push(tags) - 1;
    this.#numbers.set(text, number);
    return number;
  }
}
