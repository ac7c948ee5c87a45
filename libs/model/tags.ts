import type { Flaws } from './flaws.js';
import type { Tags } from './point.js';
import { fitsUtf8 } from './utf8.js';

export const maxTags = 16;
export const maxTagBytes = 256;

export const noTags: Tags = Object.freeze(Object.create(null) as Record<string, string>);

/** Tags without a prototype, so that `__proto__` is a key like any other; a lone surrogate becomes U+FFFD, as UTF-8 has none. */
export function tagsFrom(entries: Iterable<readonly [key: string, value: string]>): Tags {
  const tags = Object.create(null) as Record<string, string>;
  for (const [key, value] of entries) tags[key.toWellFormed()] = value.toWellFormed();
  return tags;
}

/** Equal exactly for equal tags, whatever the order of their keys; empty when there are none. */
export function tagsKey(tags: Tags): string {
  const keys = Object.keys(tags);
  if (keys.length === 0) return '';
  return JSON.stringify(keys.toSorted().map((key) => [key, tags[key]]));
}

/** The tags of the point at `place`; missing and null mean none. What is wrong with them goes to `flaws`. */
export function readTags(value: unknown, place: number, flaws: Flaws): Tags {
  if (value === undefined || value === null) return noTags;
  if (typeof value !== 'object' || Array.isArray(value)) {
    flaws.add('invalid_tags', 'points', place, 'tags');
    return noTags;
  }
  const entries = Object.entries(value as Record<string, unknown>);
  if (entries.length === 0) return noTags;
  if (entries.length > maxTags) flaws.add('too_many_tags', 'points', place, 'tags');
  else for (const entry of entries) checkTag(entry, place, flaws);
  return flaws.any ? noTags : tagsFrom(entries as [string, string][]);
}

function checkTag([key, value]: [string, unknown], place: number, flaws: Flaws): void {
  if (!fitsUtf8(key, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags');
  else if (typeof value !== 'string') flaws.add('invalid_tags', 'points', place, 'tags', key);
  else if (!fitsUtf8(value, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags', key);
}
