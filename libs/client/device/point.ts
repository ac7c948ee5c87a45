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
}

/** The server takes less for each of them, and refuses the point if it has to: here nothing may fill the memory. */
const maxChars = 64 * 1024;
/** From here on the server would take milliseconds for microseconds. It is the year 5138. */
const maxTimestampMs = 1e14;

/** @throws HeadwaterError `invalid_argument`. */
export function metricText(name: string, value: number, tags: Tags | undefined): PointText {
  if (Number.isFinite(value)) return pointText('', name, String(value), tags);
  throw invalid(`Give the metric ${name} a finite number; anything else is an event.`);
}

/** @throws HeadwaterError `invalid_argument`. */
export const eventText = (name: string, value: unknown, tags: Tags | undefined): PointText =>
  pointText('"class":"event",', name, json(value), tags);

/** Of a point, or of its beginning. */
export const isEvent = (text: string): boolean => text.startsWith('{"class"');

/** A time as the wire has it: the server takes small numbers for seconds. */
export const wireTime = (timestampMs: number): number => (timestampMs < 1e12 ? timestampMs / 1000 : timestampMs);

/** The time that `wireTime` gives a point. */
export const timeOf = (wire: number): number => Math.round(wire < 1e12 ? wire * 1000 : wire);

/** Whole Unix milliseconds. @throws HeadwaterError `invalid_argument`. */
export function checkTimestamp(timestampMs: number): number {
  const rounded = Math.round(timestampMs);
  if (rounded > 0 && rounded < maxTimestampMs) return rounded;
  throw invalid(`Give a point Unix milliseconds, not ${timestampMs}.`);
}

/** Tags are in the order of their names, so that equal ones are equal text. */
function pointText(kind: string, name: string, value: string, tags: Tags | undefined): PointText {
  const names = Object.keys(tags ?? {}).sort();
  return {
    head: `{${kind}"metric":${json(name)},"timestamp":`,
    tail: `,"value":${value}${names.length > 0 ? `,"tags":${json(tags, names)}` : ''}}`,
  };
}

/** @param names of the properties in their order. */
function json(value: unknown, names?: string[]): string {
  let text: string | undefined;
  let cause: unknown;
  try {
    text = JSON.stringify(value, names);
  } catch (error) {
    cause = error;
  }
  if (text !== undefined && text.length <= maxChars) return text;
  throw invalid(`Give a point what JSON can say in ${maxChars} characters; null stands for nothing.`, { cause });
}
