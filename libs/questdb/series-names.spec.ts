import { describe, expect, it } from '@jest/globals';
import { noTags, tagsKey } from '#model';
import { type Series, SeriesNames } from './series-names.js';

const aSeries = (names: SeriesNames): Series => names.make(names.source('o', 's'), 'o', 's', 'm');

describe('Sets of tags of a series', () => {
  it.each([
    ['of their own where tags are keys', true],
    ['that of the series where they are not', false],
  ])('have a progress %s', (_, tagsAreKeys) => {
    const names = new SeriesNames(tagsAreKeys);
    const series = aSeries(names);
    const [a, b] = [names.tagSet(series, tagsKey({ core: '0' })), names.tagSet(series, tagsKey({ core: '1' }))];
    expect(names.tagSet(series, noTags)).toBe(series);
    expect(names.tagSet(series, tagsKey({ core: '0' }))).toBe(a);
    expect(a.symbols).not.toEqual(b.symbols);
    expect(new Set([series, a, b].map(({ progress }) => progress)).size).toBe(tagsAreKeys ? 3 : 1);
  });

  it('count towards what is remembered, with their text', () => {
    const names = new SeriesNames(true);
    const series = aSeries(names);
    const { bytes } = names;
    const longest = 'x'.repeat(256);
    for (const value of ['1', '2', '2']) names.tagSet(series, tagsKey({ [longest]: value + longest }));
    expect(names.count).toBe(3);
    expect(names.bytes - bytes).toBeGreaterThan(2 * 2 * 512);
  });
});
