import { expect, it } from '@jest/globals';
import { Fleets } from './fleets.js';

/** Fleets of these sources, and how often one was read. */
function aStore(sourceIds: readonly string[]): { readonly fleets: Fleets; readonly reads: () => number } {
  let reads = 0;
  const part = { sourceIds, series: sourceIds.map(() => 1), last: undefined };
  const fleets = new Fleets(() => {
    reads++;
    return Promise.resolve(part);
  }, 1000);
  return { fleets, reads: () => reads };
}

it.each<[string, readonly string[]]>([
  ['without a source', []],
  ['of one source', ['s']],
])('very many fleets %s are not all in memory', async (_, sourceIds) => {
  const { fleets, reads } = aStore(sourceIds);
  for (let metric = 1; metric <= 500; metric++) await fleets.of('o', metric, () => []);
  expect(reads()).toBe(500);
  await fleets.of('o', 500, () => []);
  expect(reads()).toBe(500);
  await fleets.of('o', 1, () => []);
  expect(reads()).toBe(501);
});

it('very many changes of fleets that nobody asks for are not all in memory', async () => {
  const { fleets, reads } = aStore([]);
  for (const metric of [1, 2]) await fleets.of('o', metric, () => []);
  for (let at = 0; at < 900; at++) fleets.note('o', 1, `s-${at}`, 1);
  for (let at = 0; at < 900; at++) fleets.note('o', 2, `s-${at}`, 1);
  expect((await fleets.of('o', 2, () => [])).sourceIds).toHaveLength(900);
  expect(reads()).toBe(2);
  await fleets.of('o', 1, () => []);
  expect(reads()).toBe(3);
});
