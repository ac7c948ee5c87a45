import { expect, it } from '@jest/globals';
import { Lookups } from './lookups.js';
import { tablesOf } from './tables.js';

it('An answer without rows is asked for again once the table shows what it had accepted', async () => {
  const rows: readonly (readonly unknown[])[][] = [[], [['points_g1', 3, 4]], [['points_g1', 3, 9]], [['points_g1', 4, 9]], [['found']]];
  const asked: string[] = [];
  const sql = { rows: (text: string) => Promise.resolve(rows[asked.push(text) - 1] as never) };
  const text = 'SELECT metric FROM points_g1 WHERE source = $1';
  expect(await new Lookups(sql, tablesOf(1)).rows(text, ['s'])).toEqual([['found']]);
  expect(asked.map((one) => (one === text ? 'asks' : /IN \((.*?)\)/.exec(one)![1]))).toEqual([
    'asks',
    ...Array.from({ length: 3 }, () => "'points_g1'"),
    'asks',
  ]);
});

it('An answer with rows is not asked for again', async () => {
  let asked = 0;
  const sql = { rows: () => Promise.resolve([[++asked]] as never) };
  expect(await new Lookups(sql, tablesOf(1)).rows('SELECT metric FROM points_g1 WHERE source = $1', ['s'])).toEqual([[1]]);
  expect(asked).toBe(1);
});
