import { expect, it } from '@jest/globals';
import { Visibility } from './visibility.js';

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
