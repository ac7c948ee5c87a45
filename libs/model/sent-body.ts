import { backslash, closeBrace, closeBracket, colon, openBrace, openBracket } from './json-bytes.js';
import { JsonPasser, notJson } from './json-passer.js';
import { jsonValue } from './json-value.js';
import { maxPoints, maxTags } from './point.js';

/** Where a value begins and where it ends, in bytes. */
export type Span = readonly [start: number, end: number];

/** An ingest body that is an object, as far as an answer depends on it. */
export interface SentBody {
  readonly sourceId: unknown;
  /** How many points there are, of too many one more than may be; undefined when they are no array. */
  readonly points: number | undefined;
  /** A point, as `sentPoint` tells it. */
  point(place: number): Generator<void, unknown>;
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
 * Passes a whole body once, in steps, and makes objects of what matters only when it is asked for: of unknown fields, of points and tags beyond the
 * first that is too many, and of fields that come again nothing is made. Undefined when the body is not an object.
 *
 * @param bytes valid UTF-8, nested at most 64 deep.
 * @throws TelemetryError `invalid_json`.
 */
export function* sentBody(bytes: Buffer): Generator<void, SentBody | undefined> {
  const json = new JsonPasser(bytes);
  let body: SentBody | undefined;
  if (json.peek() === openBrace) body = yield* bodyAt(json);
  else if (!json.scalar()) yield* json.nested(0);
  if (json.peek() !== undefined) throw notJson();
  return body;
}

function* bodyAt(json: JsonPasser): Generator<void, SentBody> {
  let starts: readonly number[] | undefined;
  let sourceId: Span | undefined;
  for (let more = json.begins(closeBrace); more; more = json.goesOn(closeBrace)) {
    const name = fieldAt(json, bodyFields);
    json.peek();
    const start = json.at;
    if (name === 0 && json.bytes[start] === openBracket) starts = yield* itemsAt(json);
    else {
      if (!json.scalar()) yield* json.nested(1);
      if (name === 0) starts = undefined;
      else if (name === 1) sourceId = [start, json.at];
    }
    if (json.isDue) yield;
  }
  return {
    sourceId: valueAt(json.bytes, sourceId),
    points: starts?.length,
    *point(place) {
      json.goTo(starts![place]!);
      const point = yield* sentPoint(json);
      if (json.isDue) yield;
      return point;
    },
  };
}

/** Passes an array, and tells where its items begin: one more than there may be points is enough. */
function* itemsAt(json: JsonPasser): Generator<void, number[]> {
  const starts: number[] = [];
  for (let more = json.begins(closeBracket); more; more = json.goesOn(closeBracket)) {
    json.peek();
    if (starts.length <= maxPoints) starts.push(json.at);
    if (!json.scalar()) yield* json.nested(2);
    if (json.isDue) yield;
  }
  return starts;
}

/**
 * Passes a point, in steps. Returns its fields that mean something; a value that is not an object for a point that is none. In place of `value` stands
 * its span, because an event keeps the text of its value and `JSON.parse` does not tell it. Objects and arrays where none is valid are empty.
 *
 * @throws TelemetryError `invalid_json`.
 */
export function* sentPoint(json: JsonPasser): Generator<void, unknown> {
  const { bytes } = json;
  if (json.peek() !== openBrace) {
    const start = json.at;
    if (!json.scalar()) yield* json.nested(2);
    return valueAt(bytes, [start, json.at]);
  }
  const spans: (Span | undefined)[] = [];
  for (let more = json.begins(closeBrace); more; more = json.goesOn(closeBrace)) {
    const name = fieldAt(json, pointFields);
    json.peek();
    const start = json.at;
    if (!json.scalar()) yield* json.nested(3);
    // Of equal keys the last wins.
    if (name >= 0) spans[name] = [start, json.at];
    if (json.isDue) yield;
  }
  const end = json.at;
  const [metric, value, timestamp, tags, kind, source_id] = spans;
  const point = {
    metric: valueAt(bytes, metric),
    value,
    timestamp: valueAt(bytes, timestamp),
    tags: yield* tagsAt(json, tags),
    class: valueAt(bytes, kind),
    source_id: valueAt(bytes, source_id),
  };
  json.goTo(end);
  return point;
}

/** Passes a key, and tells its position among names, -1 when it is none of them. */
export function fieldAt(json: JsonPasser, among: readonly Buffer[]): number {
  const { bytes } = json;
  json.peek();
  const start = json.at;
  json.string();
  const size = json.at - start;
  json.expect(colon);
  for (let at = 0; at < among.length; at++) {
    const name = among[at]!;
    if (name.length === size - 2 && isAt(bytes, start + 1, name)) return at;
  }
  if (size < minEscapedBytes || size > maxEscapedBytes || !hasEscape(bytes, start, start + size)) return -1;
  const name = Buffer.from(textAt(bytes, start, start + size));
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
function* tagsAt(json: JsonPasser, span: Span | undefined): Generator<void, unknown> {
  const { bytes } = json;
  if (!span || bytes[span[0]] !== openBrace) return valueAt(bytes, span);
  if (span[1] - span[0] <= maxSmallBytes) return jsonValue(bytes.subarray(...span));
  const keys: (readonly [key: string, quoted: Uint8Array])[] = [];
  const values = new Map<string, Span>();
  json.goTo(span[0]);
  for (let more = json.begins(closeBrace); more && values.size <= maxTags; more = json.goesOn(closeBrace)) {
    json.peek();
    const key = keyAt(json, keys);
    const start = json.at;
    if (!json.scalar()) yield* json.nested(4);
    values.set(key, [start, json.at]);
    if (json.isDue) yield;
  }
  const tags = Object.create(null) as Record<string, unknown>;
  for (const [key, value] of values) tags[key] = valueAt(bytes, value);
  return tags;
}

/** Passes a key. @param known keys that came before, the first few, because to parse a string takes longer than to compare it. */
function keyAt(json: JsonPasser, known: (readonly [key: string, quoted: Uint8Array])[]): string {
  const { bytes } = json;
  const start = json.at;
  json.string();
  const end = json.at;
  json.expect(colon);
  for (let at = 0; at < known.length; at++) {
    const [key, quoted] = known[at]!;
    if (quoted.length === end - start && isAt(bytes, start, quoted)) return key;
  }
  const key = textAt(bytes, start, end);
  if (known.length < 2 * maxTags) known.push([key, bytes.subarray(start, end)]);
  return key;
}
