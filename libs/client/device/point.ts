import { invalid } from '../error.js';

/** Labels of a point: at most 16. */
export type Tags = Readonly<Record<string, string>>;

export interface PointOptions {
  readonly tags?: Tags;
  /** When it happened, in Unix milliseconds; without it, now. */
  readonly timestampMs?: number;
}

/** A point in the JSON of the wire, up to its time and from there on: the time alone tells points apart that are equal otherwise. */
export interface PointText {
  readonly head: string;
  readonly tail: string;
  readonly isEvent: boolean;
}

const maxNameBytes = 256;
const maxTags = 16;
const maxValueBytes = 4096;
/** The server takes 64 levels, of which body, list and point are three. */
const maxDepth = 61;
/** The last millisecond of the year 9999. */
const maxTimestampMs = 253_402_300_799_999;
const maxKnown = 10_000;

const sourceIdPattern = /^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$/;

/** Heads of points by their names: most devices send few names many times. */
const heads = { metric: new Map<string, string>(), event: new Map<string, string>() };

/** @throws HeadwaterError `invalid_argument`. */
export function checkSourceId(sourceId: string): string {
  if (typeof sourceId === 'string' && sourceIdPattern.test(sourceId)) return sourceId;
  throw invalid('Give sourceId 1 to 256 of A-Z a-z 0-9 . _ : @ + - and begin with a letter or digit.');
}

/** @throws HeadwaterError `invalid_argument`. */
export function metricText(name: string, value: number, tags: Tags | undefined): PointText {
  const head = headOf('metric', name);
  if (Number.isFinite(value)) return { head, tail: tailOf(String(value), tags), isEvent: false };
  throw invalid(`Give metric ${shown(name)} a finite number, not ${shown(value)}; anything else is an event.`);
}

/** @throws HeadwaterError `invalid_argument`. */
export const eventText = (name: string, value: unknown, tags: Tags | undefined): PointText => ({
  head: headOf('event', name),
  tail: tailOf(valueText(name, value), tags),
  isEvent: true,
});

/** A time as the wire has it: the server takes small numbers for seconds and large ones for nanoseconds. */
export function wireTime(timestampMs: number): string {
  if (timestampMs < 1e12) return String(timestampMs / 1000);
  return String(timestampMs < 1e14 ? timestampMs : timestampMs * 1e6);
}

/** Whole Unix milliseconds. @throws HeadwaterError `invalid_argument`. */
export function checkTimestamp(timestampMs: number): number {
  const rounded = Math.round(timestampMs);
  if (rounded > 0 && rounded <= maxTimestampMs) return rounded;
  throw invalid(`Give timestampMs Unix milliseconds between the years 1970 and 9999, not ${shown(timestampMs)}.`);
}

/** Length in UTF-8 of well-formed text. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair makes two of its four bytes.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}

function headOf(kind: 'metric' | 'event', name: string): string {
  const known = heads[kind];
  let head = known.get(name);
  if (head === undefined) {
    if (typeof name !== 'string' || name === '' || name.includes('\0') || !name.isWellFormed() || utf8Bytes(name) > maxNameBytes)
      throw invalid(`Give a ${kind} a name of 1 to ${maxNameBytes} bytes without NUL or lone surrogates, not ${shown(name)}.`);
    head = `{${kind === 'event' ? '"class":"event",' : ''}"metric":${JSON.stringify(name)},"timestamp":`;
    if (known.size >= maxKnown) known.clear();
    known.set(name, head);
  }
  return head;
}

function valueText(name: string, value: unknown): string {
  const isText = typeof value === 'string';
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(isText ? value.toWellFormed() : value);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined && utf8Bytes(isText ? value : text) > maxValueBytes)
    throw invalid(`Give event ${shown(name)} a value of at most ${maxValueBytes} bytes.`);
  if (text === undefined || (!isText && depthOf(text) > maxDepth))
    throw invalid(`Give event ${shown(name)} a value that JSON can say, at most ${maxDepth} deep; null stands for none.`, { cause });
  return text;
}

function depthOf(text: string): number {
  let [deepest, depth] = [0, 0];
  for (const bracket of text.replace(/"(\\.|[^"])*"|[^"[\]{}]+/g, '')) {
    depth += '[{'.includes(bracket) ? 1 : -1;
    deepest = Math.max(deepest, depth);
  }
  return deepest;
}

/** Tags are in the order of their names, so that equal ones are equal text. */
function tailOf(json: string, tags: Tags = {}): string {
  const names = Object.keys(tags ?? {}).sort();
  if (typeof tags !== 'object' || Array.isArray(tags) || names.length > maxTags)
    throw invalid(`Give a point tags as an object of at most ${maxTags} strings.`);
  const pairs = names.map((name) => {
    const value = tags[name];
    if (typeof value !== 'string' || Math.max(utf8Bytes(name), utf8Bytes(value)) > maxNameBytes)
      throw invalid(`Give tag ${shown(name)} a string, not ${shown(value)}; names and values of tags have at most ${maxNameBytes} bytes.`);
    return `${JSON.stringify(name.toWellFormed())}:${JSON.stringify(value.toWellFormed())}`;
  });
  return `,"value":${json}${pairs.length === 0 ? '' : `,"tags":{${pairs.join(',')}}`}}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}
