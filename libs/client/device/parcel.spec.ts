import { describe, expect, it } from '@jest/globals';
import { halves, Parcel, Taken } from './parcel.js';

const event = (value: string): string => `{"class":"event","metric":"e","value":"${value}"}`;
const metric = (value: string): string => `{"metric":"m","value":"${value}"}`;

describe('the halves of points', () => {
  it.each([
    ['are as long as they can be', Array.from('abcd').map(event), 'ab', 'cd'],
    ['have equal events together', Array.from('abca').map(event), 'aba', 'c'],
    ['begin with one kind where each kind is everywhere', Array.from('abab').map(event), 'aa', 'bb'],
    ['have metrics in their order', Array.from('aaaa').map(metric), 'aa', 'aa'],
    ['are one where nothing can be cut', Array.from('aaa').map(event), 'aaa', ''],
    ['are one of one', [metric('a')], 'a', ''],
  ] as const)('%s', (_, texts, one, other) => {
    expect(halves(texts).map((half) => half.map((text) => (JSON.parse(text) as { value: string }).value).join(''))).toEqual([one, other]);
  });
});

it('settles what was taken once each part of it is settled', () => {
  let settled = 0;
  const taken = new Taken([{ text: Array.from('abcd').map(metric).join(','), points: 4, bytes: 0 }], 0, () => settled++);
  const parcel = Parcel.of(taken);
  expect(parcel.texts()).toEqual(Array.from('abcd').map(metric));
  const [one, other] = parcel.parts(...halves(parcel.texts()));
  const [first, second] = other!.parts(...halves(other!.texts()));
  for (const part of [second, one]) part!.taken.settle();
  expect(settled).toBe(0);
  first!.taken.settle();
  expect(settled).toBe(1);
});
