import { expect, it } from '@jest/globals';
import { symbolsText } from './series-names.js';
import { Suspects } from './series-store.js';

it.each([
  ['the source of a refused row', 'o', 's', true],
  ['a source whose name begins like it', 'o', 's2', false],
  ['a source whose name it begins with', 'o', 'long', false],
  ['the same source of another organization', 'p', 's', false],
])('%s is under suspicion or not', (_, org, source, expected) => {
  const suspects = new Suspects();
  for (const name of ['s', 'longer']) suspects.add(symbolsText({ org: 'o', source: name, metric: 'm' }));
  expect(suspects.has(org, source)).toBe(expected);
});

it('Of many suspects the newest are remembered', () => {
  const suspects = new Suspects();
  for (let at = 0; at < 5000; at++) suspects.add(symbolsText({ org: 'o', source: `s${at}`, metric: 'm' }));
  expect([suspects.has('o', 's0'), suspects.has('o', 's4999')]).toEqual([false, true]);
});
