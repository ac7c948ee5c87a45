import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { noTags } from './point.js';
import { pairsOf, tagsKey, tagsOf, tagsOfPairs } from './tags.js';

const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('', '__proto__', '10', '9', '"', '],["', '\uFFFF', '\u{10000}'));
const pair = fc.tuple(text, text);
const tagSet = fc.uniqueArray(pair, { selector: ([name]) => name, maxLength: 16 });
const byName = ([a]: readonly [string, string], [b]: readonly [string, string]): number => (a < b ? -1 : 1);

describe('the tags of pairs', () => {
  it('are empty for none, and only for none', () => {
    expect([tagsOfPairs([]), tagsKey({})]).toEqual([noTags, noTags]);
    fc.assert(fc.property(tagSet, (pairs) => expect(tagsOfPairs(pairs) === noTags).toBe(pairs.length === 0)));
  });

  it('are the same in whatever order the pairs come', () => {
    const both = tagSet.chain((pairs) => fc.tuple(fc.constant(pairs), fc.shuffledSubarray(pairs, { minLength: pairs.length })));
    fc.assert(fc.property(both, ([one, other]) => expect(tagsOfPairs(other)).toBe(tagsOfPairs(one))));
  });

  it('say every name and value in the order of the names, so that other pairs have other tags', () => {
    fc.assert(fc.property(tagSet, (pairs) => expect(pairsOf(tagsOfPairs(pairs))).toEqual(pairs.toSorted(byName))));
  });

  it('are those of a map with the last value of each name', () => {
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 6 }), (pairs) => {
        const map = tagsOf(JSON.stringify(pairs));
        expect(Object.getPrototypeOf(map)).toBeNull();
        expect(Object.keys(map)).toHaveLength(new Set(pairs.map(([name]) => name)).size);
        expect(tagsOfPairs(pairs)).toBe(tagsKey(map));
      }),
    );
  });
});
