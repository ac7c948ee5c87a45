import { backslash, closeBrace, closeBracket, colon, openBrace, openBracket } from './json-bytes.js';
import { notJson } from './json.js';
import { JsonPasser } from './json-passer.js';
import { maxPoints } from './point-collector.js';
import { maxTags } from './tags.js';

/** Where a value begins and where it ends, in bytes. */
export type Span = readonly [start: number, end: number];

/** An ingest body that is an object, as far as an answer depends on it. */
export interface SentBody {
  readonly sourceId: unknown;
  /** How many points there are, of too many one more than may be; undefined when they are no array. */
  readonly points: number | undefined;
  /**
   * The fields of a point that mean something; a value that is not an object for a point that is none. In place of `value` stands its span,
   * because an event keeps the text of its value and `JSON.parse` does not tell it. Objects and arrays where none is valid are empty.
   */
  point(place: number): unknown;
}

/** An object of so many bytes is parsed with all that it holds. */
const maxSmallBytes = 1024;

/** Stands for an object or array where none is valid. */
const nested: readonly never[] = [];

const names = (...all: readonly string[]): readonly Buffer[] => all.map((name) => Buffer.from(name));
const bodyFields = names('points', 'source_id');
const pointFields = names('metric', 'value', 'timestamp', 'tags', 'class', 'source_id');
/** Of the shortest of these, `tags`, with one letter escaped. */
const minEscapedBytes = 9;
/** Of the longest of these with all of its letters escaped. */
const maxEscapedBytes = 54;

/**
 * Passes a whole body once, and makes objects of what matters only when it is asked for: of unknown fields, of points and tags beyond the first that
 * is too many, and of fields that come again nothing is made. Undefined when the body is not an object.
 *
 * @param bytes valid UTF-8, nested at most 64 deep.
 * @throws TelemetryError `invalid_json`.
 */
export function sentBody(bytes: Buffer): SentBody | undefined {
  const json = new JsonPasser(bytes);
  let body: SentBody | undefined;
  if (json.peek() === openBrace) body = new PassedBody(json);
  else json.value();
  if (json.peek() !== undefined) throw notJson();
  return body;
}

class PassedBody implements SentBody {
  /** Where each point begins. */
  #starts: readonly number[] | undefined;
  readonly #sourceId: Span | undefined;

  constructor(private readonly json: JsonPasser) {
    let sourceId: Span | undefined;
    passFields(json, (start, end) => {
      const name = fieldAt(json.bytes, start, end, bodyFields);
      if (name === 0) this.#starts = passItems(json);
      else if (name === 1) sourceId = passed(json);
      else json.value();
    });
    this.#sourceId = sourceId;
  }

  get sourceId(): unknown {
    return valueAt(this.json.bytes, this.#sourceId);
  }

  get points(): number | undefined {
    return this.#starts?.length;
  }

  point(place: number): unknown {
    const { json } = this;
    json.at = this.#starts![place]!;
    if (json.peek() !== openBrace) return valueAt(json.bytes, passed(json));
    const spans: (Span | undefined)[] = [];
    passFields(json, (start, end) => {
      const name = fieldAt(json.bytes, start, end, pointFields);
      if (name < 0) json.value();
      // Of equal keys the last wins.
      else spans[name] = passed(json);
    });
    const [metric, value, timestamp, tags, kind, source_id] = spans;
    const of = (span: Span | undefined): unknown => valueAt(json.bytes, span);
    return { metric: of(metric), value, timestamp: of(timestamp), tags: tagsAt(json, tags), class: of(kind), source_id: of(source_id) };
  }
}

/** Passes an object. @param field passes the value of the key whose quotes stand at [start, end). */
function passFields(json: JsonPasser, field: (start: number, end: number) => void): void {
  json.expect(openBrace);
  if (json.passedIf(closeBrace)) return;
  do {
    json.peek();
    const start = json.at;
    json.string();
    const end = json.at;
    json.expect(colon);
    field(start, end);
  } while (json.goesOn(closeBrace));
}

/** Passes an array, and tells where its items begin: one more than there may be points is enough. Undefined for any other value. */
function passItems(json: JsonPasser): number[] | undefined {
  if (json.peek() !== openBracket) {
    json.value();
    return undefined;
  }
  const starts: number[] = [];
  json.expect(openBracket);
  if (json.passedIf(closeBracket)) return starts;
  do {
    json.peek();
    if (starts.length <= maxPoints) starts.push(json.at);
    json.value();
  } while (json.goesOn(closeBracket));
  return starts;
}

function passed(json: JsonPasser): Span {
  json.peek();
  const start = json.at;
  json.value();
  return [start, json.at];
}

/** The position of a key among names, -1 when it is none of them. */
function fieldAt(bytes: Buffer, start: number, end: number, among: readonly Buffer[]): number {
  const size = end - start;
  for (let at = 0; at < among.length; at++) {
    const name = among[at]!;
    if (name.length === size - 2 && isAt(bytes, start + 1, name)) return at;
  }
  if (size < minEscapedBytes || size > maxEscapedBytes || !hasEscape(bytes, start, end)) return -1;
  const name = Buffer.from(textAt(bytes, start, end));
  return among.findIndex((one) => one.equals(name));
}

function isAt(bytes: Buffer, start: number, name: Uint8Array): boolean {
  for (let at = 0; at < name.length; at++) if (bytes[start + at] !== name[at]) return false;
  return true;
}

function hasEscape(bytes: Buffer, start: number, end: number): boolean {
  for (let at = start; at < end; at++) if (bytes[at] === backslash) return true;
  return false;
}

/** A string as the two quotes and what is between them say. */
const textAt = (bytes: Buffer, start: number, end: number): string => JSON.parse(bytes.toString('utf8', start, end)) as string;

function valueAt(bytes: Buffer, span: Span | undefined): unknown {
  if (!span) return undefined;
  const [start, end] = span;
  const first = bytes[start];
  return first === openBrace || first === openBracket ? nested : JSON.parse(bytes.toString('utf8', start, end));
}

/** The tags; of too many one more than there may be. */
function tagsAt(json: JsonPasser, span: Span | undefined): unknown {
  if (!span || json.bytes[span[0]] !== openBrace) return valueAt(json.bytes, span);
  if (span[1] - span[0] <= maxSmallBytes) return JSON.parse(json.bytes.toString('utf8', ...span));
  const keys: (readonly [key: string, quoted: Uint8Array])[] = [];
  const values = new Map<string, Span>();
  json.at = span[0];
  passFields(json, (start, end) => {
    if (values.size > maxTags) return json.value();
    let key: string | undefined;
    for (let at = 0; at < keys.length && key === undefined; at++) {
      const [text, quoted] = keys[at]!;
      if (quoted.length === end - start && isAt(json.bytes, start, quoted)) key = text;
    }
    if (key === undefined) {
      key = textAt(json.bytes, start, end);
      if (keys.length < 2 * maxTags) keys.push([key, json.bytes.subarray(start, end)]);
    }
    values.set(key, passed(json));
  });
  const tags = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of values) tags[key] = valueAt(json.bytes, value);
  return tags;
}
