import { expect, it } from '@jest/globals';
import { compareUtf8 } from '#model';
import { SortedKeys } from './sorted-keys.js';

const count = 5000;
const mixed = (at: number): number => (at * 7919) % count;

it.each<[string, (at: number) => string]>([
  ['in order', (at) => `${at}`.padStart(4, '0')],
  ['mixed, each twice', (at) => `${mixed(at) >> 1}`],
  ['with some beyond U+FFFF that come late', (at) => `${at > count / 2 && at % 3 === 0 ? '\u{1f600}' : '\uffff'}${mixed(at)}`],
])('Keys are in the order of their UTF-8 bytes as they come and go: %s', (_, name) => {
  const keys = new SortedKeys();
  const known = new Set<string>();
  for (let at = 0; at < count; at++) {
    keys.add(name(at));
    known.add(name(at));
    if (at % 5 > 0) continue;
    keys.delete(name(mixed(at)));
    known.delete(name(mixed(at)));
  }
  const sorted = [...known].sort(compareUtf8);
  for (const prefix of ['', '1', '49', '\uffff', '\uffff3', '\u{1f600}', '\u{1f600}31', 'zzz']) {
    const expected = sorted.filter((key) => key.startsWith(prefix));
    expect(keys.startingWith(prefix)).toEqual(expected);
    expect(keys.count(prefix)).toBe(expected.length);
    const after = sorted[sorted.length >> 1]!;
    const behind = expected.filter((key) => compareUtf8(key, after) > 0);
    expect(keys.startingWith(prefix, { after, limit: 700 })).toEqual(behind.slice(0, 700));
  }
  for (const key of known) keys.delete(key);
  expect([keys.count(''), keys.startingWith('')]).toEqual([0, []]);
  keys.add('again');
  expect(keys.startingWith('')).toEqual(['again']);
});
