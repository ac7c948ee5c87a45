import { Flaws } from './flaws.js';
import { openBrace } from './json-bytes.js';
import { parsed, unusual, type JsonCursor } from './json-cursor.js';
import type { Tags } from './point.js';
import { noTags, readTags } from './tags.js';

/** How deep in the body the inside of a point is. */
export const pointDepth = 3;

/** More than 16 tags take when no character of them is escaped; what is longer is read in a way that stops at the 17th. */
const mostTagsBytes = 16 * 1024;

/** The tags of one body, each text of them read once and numbered; 0 is no tags. */
export class BodyTags {
  readonly #numbers = new Map<string, number>();
  readonly #tags: Tags[] = [noTags];
  /** Where the last tags stand and their number: mostly the next are the same. */
  #start = 0;
  #end = 0;
  #number = 0;

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
    json.skip(pointDepth);
    this.#end = json.at;
    if (this.#end - this.#start > mostTagsBytes) throw unusual;
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
