import { describe, expect, it } from '@jest/globals';
import { addText, NameFilter, type NameHash } from './name-filter.js';

const start = { a: 7, b: 11 };
const hash = (...texts: string[]): NameHash => texts.reduce<NameHash>((from, text) => addText(from, text, { a: 0, b: 0 }), start);

describe('a filter of names', () => {
  it('knows all that was added, and hardly anything else', () => {
    const filter = new NameFilter();
    const names = 20_000;
    for (let at = 0; at < names; at++) filter.add(hash(`pump-${at}`, 'pressure'));
    let [lost, mistaken] = [0, 0];
    for (let at = 0; at < names; at++) {
      if (!filter.has(hash(`pump-${at}`, 'pressure'))) lost++;
      if (filter.has(hash(`valve-${at}`, 'pressure'))) mistaken++;
    }
    expect(lost).toBe(0);
    expect(mistaken).toBeLessThan(names / 1_000);
  });

  it('knows nothing at first', () => {
    expect(new NameFilter().has(hash('a'))).toBe(false);
  });
});

it('tells apart texts that are cut in other places', () => {
  expect(hash('ab', 'c')).not.toEqual(hash('a', 'bc'));
  expect(hash('abc')).not.toEqual(hash('abc', ''));
});

it('does not change what it goes on from', () => {
  hash('a');
  expect(start).toEqual({ a: 7, b: 11 });
});
