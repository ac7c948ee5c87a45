import type { Flaws } from './flaws.js';
import { fitsUtf8 } from './names.js';
import { maxTagBytes, maxTags, noTags, type TagMap, type Tags } from './point.js';

/** Tags as they are kept: JSON of the pairs of names and values, in the order of the names. */
export function tagsKey(map: TagMap): Tags {
  const names = Object.keys(map);
  if (names.length === 0) return noTags;
  if (!isSorted(names)) names.sort();
  return JSON.stringify(names.map((name) => [name, map[name]]));
}

function isSorted(names: readonly string[]): boolean {
  for (let at = 1; at < names.length; at++) if (names[at - 1]! > names[at]!) return false;
  return true;
}

/** As `tagsKey`, of pairs; of equal names the last one holds. */
export function tagsOfPairs(pairs: readonly (readonly [name: string, value: string])[]): Tags {
  if (pairs.length === 0) return noTags;
  for (let at = 1; at < pairs.length; at++) if (pairs[at - 1]![0] >= pairs[at]![0]) return tagsKey(mapOf(pairs));
  return JSON.stringify(pairs);
}

export const pairsOf = (tags: Tags): readonly (readonly [name: string, value: string])[] =>
  tags === noTags ? [] : (JSON.parse(tags) as [string, string][]);

export const tagsOf = (tags: Tags): TagMap => mapOf(pairsOf(tags));

function mapOf(pairs: readonly (readonly [name: string, value: string])[]): TagMap {
  const map = Object.create(null) as Record<string, string>;
  for (const [name, value] of pairs) map[name] = value;
  return map;
}

/**
 * The tags of the point at `place`; missing and null mean none. A lone surrogate becomes U+FFFD, as UTF-8 has none. What is wrong goes to
 * `flaws`.
 */
export function readTags(value: unknown, place: number, flaws: Flaws): Tags {
  if (value === undefined || value === null) return noTags;
  if (typeof value !== 'object' || Array.isArray(value)) {
    flaws.add('invalid_tags', 'points', place, 'tags');
    return noTags;
  }
  const sent = value as Record<string, unknown>;
  const names = Object.keys(sent);
  if (names.length > maxTags) flaws.add('too_many_tags', 'points', place, 'tags');
  else for (const name of names) checkTag(name, sent[name], place, flaws);
  if (flaws.any) return noTags;
  const isWellFormed = names.every((name) => name.isWellFormed() && (sent[name] as string).isWellFormed());
  if (isWellFormed) return tagsKey(sent as TagMap);
  return tagsKey(mapOf(names.map((name) => [name.toWellFormed(), (sent[name] as string).toWellFormed()])));
}

function checkTag(name: string, value: unknown, place: number, flaws: Flaws): void {
  if (!fitsUtf8(name, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags');
  else if (typeof value !== 'string') flaws.add('invalid_tags', 'points', place, 'tags', name);
  else if (!fitsUtf8(value, maxTagBytes)) flaws.add('tag_too_long', 'points', place, 'tags', name);
}
