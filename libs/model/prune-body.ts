import { closeBrace, closeBracket, colon, openBrace, openBracket } from './json-bytes.js';
import { notJson } from './json.js';
import { JsonPasser } from './json-passer.js';
import { maxPoints } from './point-collector.js';
import { maxTags } from './tags.js';

/** Copies the value of a key; undefined leaves it out. */
type Take = (() => void) | undefined;

/** Stand in for an object or array where none is valid, and for points that are not an array. */
const anArray = Buffer.from('[]');
const anObject = Buffer.from('{}');
/** Every key that means something is shorter, even if all of its characters are escaped. */
const maxKeyBytes = 60;

/**
 * An ingest body without the parts on which no answer depends: unknown fields, points and tags beyond the first that is too many, and
 * the inside of values of a wrong type. In place of the value of a point stands where it begins and ends in `bytes`, such as `[17,21]`,
 * because an event keeps the text of its value and `JSON.parse` does not tell it. The rest is cheap to parse, for `acceptBody`.
 *
 * @param bytes valid UTF-8, nested at most 64 deep.
 * @throws TelemetryError `invalid_json` when a part that is left out is not JSON. The result may still not be JSON.
 */
export function pruneBody(bytes: Uint8Array): Uint8Array {
  return new Pruner(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)).body();
}

class Pruner {
  readonly #json: JsonPasser;
  readonly #out: Buffer;
  #end = 0;

  readonly #bodyFields: Readonly<Record<string, () => void>> = {
    points: () => this.#array(),
    source_id: () => this.#scalar(),
  };
  readonly #pointFields: Readonly<Record<string, () => void>> = {
    metric: () => this.#scalar(),
    value: () => this.#value(),
    timestamp: () => this.#scalar(),
    tags: () => this.#tags(),
    class: () => this.#scalar(),
    source_id: () => this.#scalar(),
  };

  constructor(bytes: Buffer) {
    this.#json = new JsonPasser(bytes);
    // The shortest field `"value":0` of 9 bytes becomes at most 25.
    this.#out = Buffer.allocUnsafe(3 * bytes.length);
  }

  body(): Uint8Array {
    if (this.#json.peek() === openBrace) this.#object((start, end) => this.#fieldOf(this.#bodyFields, start, end));
    else this.#scalar();
    if (this.#json.peek() !== undefined) throw notJson();
    return this.#out.subarray(0, this.#end);
  }

  #object(take: (start: number, end: number) => Take): void {
    const json = this.#json;
    json.expect(openBrace);
    this.#put(openBrace);
    const first = this.#end;
    if (json.passedIf(closeBrace)) return this.#put(closeBrace);
    do {
      json.peek();
      const start = json.at;
      json.string();
      const end = json.at;
      json.expect(colon);
      const taken = take(start, end);
      if (taken) {
        if (this.#end > first) this.#put(0x2c);
        this.#copy(start, end);
        this.#put(colon);
        taken();
      } else json.value();
    } while (json.goesOn(closeBrace));
    this.#put(closeBrace);
  }

  /** The points. Keep `maxPoints + 1`: enough to report too many. */
  #array(): void {
    const json = this.#json;
    if (json.peek() !== openBracket) return this.#scalar(anObject);
    json.expect(openBracket);
    this.#put(openBracket);
    if (json.passedIf(closeBracket)) return this.#put(closeBracket);
    let count = 0;
    do {
      if (count > maxPoints) {
        json.value();
        continue;
      }
      if (count++ > 0) this.#put(0x2c);
      if (json.peek() === openBrace) this.#object((start, end) => this.#fieldOf(this.#pointFields, start, end));
      else this.#scalar();
    } while (json.goesOn(closeBracket));
    this.#put(closeBracket);
  }

  /** Keep `maxTags + 1`: enough to report too many. */
  #tags(): void {
    if (this.#json.peek() !== openBrace) return this.#scalar();
    const keys = new Set<string>();
    this.#object((start, end) => {
      if (keys.size > maxTags) return undefined;
      keys.add(this.#text(start, end));
      return () => this.#scalar();
    });
  }

  #value(): void {
    const json = this.#json;
    json.peek();
    const start = json.at;
    json.value();
    this.#putAll(Buffer.from(`[${start},${json.at}]`));
  }

  #scalar(instead = anArray): void {
    const json = this.#json;
    const byte = json.peek();
    const start = json.at;
    json.value();
    if (byte === openBrace || byte === openBracket) this.#putAll(instead);
    else this.#copy(start, json.at);
  }

  #fieldOf(fields: Readonly<Record<string, () => void>>, start: number, end: number): Take {
    if (end - start > maxKeyBytes) return undefined;
    const name = this.#text(start, end);
    return Object.hasOwn(fields, name) ? fields[name] : undefined;
  }

  /** A string as the two quotes and what is between them say. */
  #text(start: number, end: number): string {
    const quoted = this.#json.bytes.toString('utf8', start, end);
    return quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  }

  #put(byte: number): void {
    this.#out[this.#end++] = byte;
  }

  #copy(start: number, end: number): void {
    this.#json.bytes.copy(this.#out, this.#end, start, end);
    this.#end += end - start;
  }

  #putAll(bytes: Buffer): void {
    bytes.copy(this.#out, this.#end);
    this.#end += bytes.length;
  }
}
