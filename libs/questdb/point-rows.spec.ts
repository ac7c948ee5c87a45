import { describe, expect, it } from '@jest/globals';
import { columnsOf, Random } from '#testing';
import { dueAfter, LateRows } from './point-rows.js';

const dayMs = 86_400_000;
const [table, symbols] = [Buffer.from('t'), Buffer.from(',a=b')];

/** Rows of organizations by day: the value of a row is its place in what was added. */
type Added = readonly (readonly [org: string, day: number])[];

function lateRows(added: Added): LateRows {
  const late = new LateRows(dayMs);
  for (const [at, [org, day]] of added.entries())
    late.lines(org, day * dayMs + at).points(table, symbols, columnsOf([day * dayMs + at, at]));
  return late;
}

/** Times of the rows of each part, for each time that some are taken. */
function takes(late: LateRows): number[][][] {
  const all: number[][][] = [];
  while (!late.empty) {
    const parts = late.take().map((lines) => Buffer.concat(lines.pieces).toString('latin1').trimEnd().split('\n'));
    all.push(parts.map((rows) => rows.map((row) => Number(row.slice(row.lastIndexOf(' ') + 1)))));
  }
  return all;
}
const daysOf = (taken: readonly number[][]): number[] => [...new Set(taken.flat().map((time) => Math.floor(time / dayMs)))];

describe('Late rows', () => {
  it('of one organization are taken 50 partitions at a time, those that came first before', () => {
    const days = Array.from({ length: 120 }, (_, at) => 1000 - 7 * at);
    const taken = takes(lateRows(days.map((day) => ['o', day])));
    expect(taken.map(daysOf)).toEqual([days.slice(0, 50), days.slice(50, 100), days.slice(100)]);
  });

  it('of an organization with few days do not wait behind one with many', () => {
    const many = Array.from({ length: 200 }, (_, day) => ['many', day] as const);
    const [first] = takes(lateRows([...many, ['few', 500], ['few', 501]]));
    expect(daysOf(first!)).toEqual(expect.arrayContaining([500, 501]));
    expect(daysOf(first!)).toHaveLength(50);
  });

  it('of other organizations in the same partitions are taken with them', () => {
    const days = Array.from({ length: 50 }, (_, day) => day);
    const taken = takes(lateRows(['a', 'b', 'c'].flatMap((org) => days.map((day) => [org, day] as const))));
    expect(taken.map((parts) => parts.length)).toEqual([150]);
  });

  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  it(`are all taken once, those of an organization and partition in their order, never more than 50 partitions (SEED=${seed})`, () => {
    const random = new Random(seed);
    for (let round = 0; round < 50; round++) {
      const added: Added = Array.from({ length: random.whole(1, 2000) }, () => [`o${random.whole(0, 20)}`, random.whole(0, 300)]);
      const taken = takes(lateRows(added));
      for (const parts of taken) expect(daysOf(parts).length).toBeLessThanOrEqual(50);
      const times = taken.flat(2);
      expect(times.toSorted((a, b) => a - b)).toEqual(added.map(([, day], at) => day * dayMs + at).toSorted((a, b) => a - b));
      for (const part of taken.flat()) expect(part).toEqual(part.toSorted((a, b) => a - b));
    }
  });
});

describe('After a flush that began at 100,000', () => {
  const before = { live: 1, late: 2 };
  it.each([
    ['live', 0, 100_500, 2],
    ['live', 120, 100_500, 2],
    ['live', 130, 100_520, 2],
    ['live', 1000, 104_000, 2],
    ['live', 20_000, 105_000, 2],
    ['late', 0, 100_500, 105_000],
    ['late', 1000, 100_500, 105_000],
    ['late', 2000, 100_500, 108_000],
    ['late', 7500, 100_500, 130_000],
    ['late', 60_000, 100_500, 130_000],
  ])('with %s rows that took %d ms to apply, live ones are due at %d and late ones at %d', (kind, applyMs, live, late) => {
    expect(dueAfter(before, { beganMs: 100_000, applyMs, late: kind === 'late' })).toEqual({ live, late });
  });
});
