import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { Tags } from './point.js';
import { noTags, tagsKey, tagsOf } from './tags.js';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '__proto__', '10', '9', '"', '],["', '\uFFFF', '\u{10000}'));
const tagSet = fc.uniqueArray(fc.tuple(text, text), { selector: ([name]) => name, maxLength: 16 });

const tagsFrom = (entries: readonly (readonly [string, string])[]): Tags => {
  const tags = Object.create(null) as Record<string, string>;
  for (const [name, value] of entries) tags[name] = value;
  return tags;
};
const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

describe('the key of tags', () => {
  it('is empty for none, and only for none', () => {
    expect([tagsKey(noTags), tagsKey({})]).toEqual(['', '']);
    fc.assert(fc.property(tagSet, (entries) => expect(tagsKey(tagsFrom(entries)) === '').toBe(entries.length === 0)));
  });

  it('is the same in whatever order the tags come', () => {
    const both = tagSet.chain((entries) => fc.tuple(fc.constant(entries), fc.shuffledSubarray(entries, { minLength: entries.length })));
    fc.assert(fc.property(both, ([one, other]) => expect(tagsKey(tagsFrom(other))).toBe(tagsKey(tagsFrom(one)))));
  });

  it('says every name and value, so that other tags have another key', () => {
    fc.assert(
      fc.property(tagSet, (entries) => {
        const back = tagsOf(tagsKey(tagsFrom(entries)));
        expect(Object.entries(back).toSorted(byName)).toEqual(entries.toSorted(byName));
      }),
    );
  });
});
