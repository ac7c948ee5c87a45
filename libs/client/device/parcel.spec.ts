import { describe, expect, it } from '@jest/globals';
import { between, halves, parcelOf, partsOf, textsOf } from './parcel.js';

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
  const whole = parcelOf([{ text: Array.from('abcd').map(metric).join(between), points: 4, bytes: 0 }], 0);
  expect(textsOf(whole)).toEqual(Array.from('abcd').map(metric));
  const [one, other] = partsOf(whole, ...halves(textsOf(whole)));
  const [first, second] = partsOf(other!, ...halves(textsOf(other!)));
  for (const part of [second, one]) expect(partsOf(part!)).toEqual([]);
  expect(whole.taken.parcels).toBe(1);
  partsOf(first!);
  expect(whole.taken.parcels).toBe(0);
});
