import type { Flaws } from './flaws.js';
import type { Tags } from './point.js';
import { fitsUtf8 } from './utf8.js';

export const maxTags = 16;
export const maxTagBytes = 256;

export const noTags: Tags = Object.freeze(Object.create(null) as Record<string, string>);

/** The keys of tags that came before: a point's are asked for where it is read, cut and stored. */
const known = new WeakMap<Tags, string>([[noTags, '']]);

/** Equal exactly for equal tags, whatever the order of their keys; empty when there are none. */
export function tagsKey(tags: Tags): string {
  const before = known.get(tags);
  if (before !== undefined) return before;
  const key = keyOf(tags);
  if (key !== '') known.set(tags, key);
  return key;
}

function keyOf(tags: Tags): string {
  const keys = Object.keys(tags);
  if (keys.length === 0) return '';
  if (!isSorted(keys)) keys.sort();
  return JSON.stringify(keys.map((key) => [key, tags[key]]));
}

function isSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at++) if (keys[at - 1]! > keys[at]!) return false;
  return true;
}

/** The tags that a key of `tagsKey` stands for. */
export function tagsOf(key: string): Tags {
  if (key === '') return noTags;
  const tags = Object.create(null) as Record<string, string>;
  for (const [name, value] of JSON.parse(key) as [string, string][]) tags[name] = value;
  return tags;
}

/**
 * The tags of the point at `place`, which are given away; missing and null mean none. A lone surrogate becomes U+FFFD, as UTF-8 has none. What is wrong goes
 * to `flaws`.
 */
export function readTags(value: unknown, place: number, flaws: Flaws): Tags {
  if (value === undefined || value === null) return noTags;
  if (typeof value !== 'object' || Array.isArray(value)) {
    flaws.add('invalid_tags', 'points', place, 'tags');
    return noTags;
  }
  const sent = value as Record<string, unknown>;
  const keys = Object.keys(sent);
  if (keys.length > maxTags) flaws.add('too_many_tags', 'points', place, 'tags');
  else for (const key of keys) checkTag(key, sent[key], place, flaws);
  if (keys.length === 0 || flaws.any) return noTags;
  const isWellFormed = keys.every((key) => key.isWellFormed() && (sent[key] as string).isWellFormed());
  // Not copied: V8 keeps an object that is made without a prototype as a dictionary, which is several times as large.
  if (isWellFormed) return Object.setPrototypeOf(sent, null) as Tags;
  const tags = Object.create(null) as Record<string, string>;
  for (const key of keys) tags[key.toWellFormed()] = (sent[key] as string).toWellFormed();
  return tags;
}

function checkTag(key: string, value: unknown, place: number, flaws: Flaws): void {
  if (!fitsUtf8(key, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags');
  else if (typeof value !== 'string') flaws.add('invalid_tags', 'points', place, 'tags', key);
  else if (!fitsUtf8(value, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags', key);
}
