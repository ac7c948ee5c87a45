import { describe, expect, it } from '@jest/globals';
import { dueAfter } from './flush-times.js';

describe('After a flush that began at 100,000', () => {
  const before = { live: 1, late: 2 };
  it.each([
    ['live', 0, 101_000, 2],
    ['live', 200, 101_000, 2],
    ['live', 300, 101_200, 2],
    ['live', 1000, 104_000, 2],
    ['live', 20_000, 105_000, 2],
    ['late', 0, 101_000, 105_000],
    ['late', 1000, 101_000, 105_000],
    ['late', 2000, 101_000, 108_000],
    ['late', 7500, 101_000, 130_000],
    ['late', 60_000, 101_000, 130_000],
  ])('with %s rows that took %d ms to apply, live ones are due at %d and late ones at %d', (kind, applyMs, live, late) => {
    expect(dueAfter(before, { beganMs: 100_000, applyMs, late: kind === 'late' })).toEqual({ live, late });
  });
});
