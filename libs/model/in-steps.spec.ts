import { expect, it } from '@jest/globals';
import { eachInSteps, sortedInSteps, stepItems, type Steps } from './in-steps.js';
import { compareUtf8 } from './utf8.js';

function finish<T>(work: Steps<T>): { readonly result: T; readonly steps: number } {
  for (let steps = 1; ; steps++) {
    const { done, value } = work.next();
    if (done) return { result: value, steps };
  }
}

const names = (count: number, name: (at: number) => string): string[] =>
  Array.from({ length: count }, (_, at) => name((at * 7919) % count));

it.each([
  ['none', []],
  ['one', ['a']],
  ['as many as one step sorts', names(stepItems, (at) => `m.${at}`)],
  ['one more', names(stepItems + 1, (at) => `m.${at}`)],
  ['an odd number of parts, with equal texts', names(4 * stepItems + 5, (at) => `m.${at % 3000}`)],
  ['characters beyond U+FFFF in the last part only', [...names(3 * stepItems, (at) => `\uffff${at}`), '\u{1f600}', '']],
])('Texts are sorted in steps as in one: %s', (_, texts) => {
  const before = [...texts];
  expect(finish(sortedInSteps(texts)).result).toEqual(texts.toSorted(compareUtf8));
  expect(texts).toEqual(before);
});

it('Few texts are sorted in one step, and no step sorts or merges more than some', () => {
  expect(finish(sortedInSteps(names(stepItems, String))).steps).toBe(1);
  // 64 parts are sorted, and 6 times all of them merged in pairs.
  expect(finish(sortedInSteps(names(64 * stepItems, String))).steps).toBe(7 * 64);
});

it('Items are made of values in steps, without those that are undefined', () => {
  const { result, steps } = finish(
    eachInSteps(Float64Array.of(1, Number.NaN, 3, 4, 5), (value, at) => (value > 0 ? [at, value] : undefined), 2),
  );
  expect(result).toEqual([
    [0, 1],
    [2, 3],
    [3, 4],
    [4, 5],
  ]);
  expect(steps).toBe(3);
  expect(finish(eachInSteps([1, 2], (value) => value, 2)).steps).toBe(1);
});
