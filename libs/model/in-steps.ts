import { compareUtf8, utf8Order } from './utf8.js';

/** Work that holds the event loop for a millisecond or two in each of its steps. */
export type Steps<T> = Generator<void, T>;

/** Of what takes a microsecond or less, so many items are one step. */
export const stepItems = 2048;

/** Of entries whose tags are to be read, and of series that get columns of their own, so many are one step. */
export const stepEntries = 256;

/** What `make` makes of each value, without what is undefined. */
export function* eachInSteps<V, T>(values: ArrayLike<V>, make: (value: V, at: number) => T | undefined, perStep = stepItems): Steps<T[]> {
  const made: T[] = [];
  for (let at = 0; at < values.length; at++) {
    if (at > 0 && at % perStep === 0) yield;
    const one = make(values[at]!, at);
    if (one !== undefined) made.push(one);
  }
  return made;
}

/** The texts in the order of their UTF-8 bytes. */
export function* sortedInSteps(texts: readonly string[]): Steps<string[]> {
  let parts: string[][] = [];
  let compare = utf8Order([]);
  for (let from = 0; from < texts.length; from += stepItems) {
    if (from > 0) yield;
    const part = texts.slice(from, from + stepItems);
    const its = utf8Order(part);
    if (its === compareUtf8) compare = its;
    parts.push(part.sort(its));
  }
  while (parts.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < parts.length; at += 2) merged.push(yield* merge(parts[at]!, parts[at + 1] ?? [], compare));
    parts = merged;
  }
  return parts[0] ?? [];
}

function* merge(left: readonly string[], right: readonly string[], compare: typeof compareUtf8): Steps<string[]> {
  const merged: string[] = [];
  for (let l = 0, r = 0; merged.length < left.length + right.length;) {
    if (merged.length % stepItems === 0) yield;
    merged.push(r === right.length || (l < left.length && compare(left[l]!, right[r]!) <= 0) ? left[l++]! : right[r++]!);
  }
  return merged;
}
