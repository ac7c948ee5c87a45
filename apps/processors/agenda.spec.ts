import { expect, it } from '@jest/globals';
import { Agenda } from './agenda.js';

const start = 1_700_000_000_000;

it('keys come when their time does, each once and at most so many', () => {
  const agenda = new Agenda();
  for (const [key, atMs] of [
    ['a', 5000],
    ['b', 0],
    ['c', 5000],
    ['d', Infinity],
    ['a', 3000],
  ] as const)
    agenda.put(key, start + atMs, start);
  expect(agenda.take(start, 9)).toEqual(['b']);
  expect(agenda.take(start + 3000, 9)).toEqual(['a']);
  agenda.put('e', start + 5000, start);
  expect(agenda.take(start + 6000, 1)).toEqual(['c']);
  expect(agenda.take(start + 6000, 9)).toEqual(['e']);
  expect(agenda.take(start + 1e9, 9)).toEqual([]);
});

it('a key far ahead comes early, to be put back', () => {
  const agenda = new Agenda();
  agenda.put('a', start + 86_400_000, start);
  expect([agenda.take(start + 599_000, 9), agenda.take(start + 600_000, 9)]).toEqual([[], ['a']]);
});

it('all keys come when the clock is set back, instead of when it is as late again', () => {
  const agenda = new Agenda();
  agenda.put('a', start + 5000, start);
  agenda.put('b', start + 500_000, start);
  expect(agenda.take(start + 1000, 9)).toEqual([]);
  expect(agenda.take(start - 3_600_000, 1)).toEqual(['a']);
  expect(agenda.take(start - 3_600_000, 9)).toEqual(['b']);
});
