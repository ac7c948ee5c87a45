import { expect, it } from '@jest/globals';
import { pauseAfter, Visibility } from './visibility.js';

type Row = readonly [table: string, shown: number, accepted: number, suspended: string];

it('What several tables accepted is looked up in one question, and again only for those that do not show it', async () => {
  const looks: readonly (readonly Row[])[] = [
    [
      ['a', 3, 3, 'f'],
      ['b', 1, 2, 'f'],
      ['c', 4, 7, 'f'],
    ],
    [
      ['b', 2, 5, 'f'],
      ['c', 6, 9, 'f'],
    ],
    [['c', 7, 9, 'f']],
  ];
  const asked: string[] = [];
  const rows = (text: string): Promise<never[]> => {
    asked.push(/IN \((.*)\)/.exec(text)![1]!);
    return Promise.resolve(looks[asked.length - 1] as never);
  };
  await new Visibility({ rows }).of(['a', 'b', 'c'], () => undefined);
  expect(asked).toEqual(["'a','b','c'", "'b','c'", "'c'"]);
});

it.each([
  ['at once, when the last wait took no time', 0, 0, 2],
  ['soon, when it took little', 0, 20, 15],
  ['for a quarter of a second at most, when it took long', 1, 60_000, 249],
  ['for a quarter of the time so far, after that', 160, 200, 40],
  ['for a tenth of a second at most, after that', 2000, 200, 100],
])('Looks again %s: after %d ms, the last wait took %d ms, pause %d ms', (_, waitedMs, lastMs, expected) => {
  expect(pauseAfter(waitedMs, lastMs)).toBe(expected);
});
