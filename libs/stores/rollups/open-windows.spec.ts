import { describe, expect, it } from '@jest/globals';
import { columnsOf } from '#testing';
import { OpenWindows } from './open-windows.js';

const minute = 60_000;
const fresh = (): { readonly open: OpenWindows; readonly stale: number[] } => {
  const stale: number[] = [];
  const open = new OpenWindows(
    minute,
    () => false,
    (_, startMs) => stale.push(startMs),
  );
  open.reserve(1);
  return { open, stale };
};

describe('The open window of a series', () => {
  it.each([
    ['none', [], 0, true],
    ['the same', [5], 0, false],
    ['an earlier one', [minute], 0, false],
    ['a later one', [minute], 2 * minute, true],
  ])('may still be this one when it has been %s', (_, times, startMs, mayBegin) => {
    const { open } = fresh();
    for (const time of times) open.fold(0, columnsOf([time, 1]), 0, 1);
    expect(open.mayBegin(0, startMs)).toBe(mayBegin);
  });

  it('takes no point of an earlier one, which other tags may still bring, and goes on', () => {
    const { open, stale } = fresh();
    for (const time of [minute, 1, minute + 1]) open.fold(0, columnsOf([time, 1]), 0, 1);
    expect(stale).toEqual([0]);
    expect(open.takeChanged(0)).toMatchObject({ startMs: minute, count: 2 });
  });

  it('takes points of several windows at once, from the place that is said to before the other', () => {
    const { open, stale } = fresh();
    open.fold(0, columnsOf([minute, 4]), 0, 1);
    const points = columnsOf([0, 9], [1, 9], [minute + 1, 1], [minute + 2, 7], [3 * minute, 2], [3 * minute + 1, -2], [3 * minute + 2, 9]);
    open.fold(0, points, 1, 6);
    expect(stale).toEqual([0]);
    expect([...open.changed()].map(({ bucket }) => bucket)).toEqual([
      { startMs: minute, min: 1, max: 7, sum: 12, count: 3 },
      { startMs: 3 * minute, min: -2, max: 2, sum: 0, count: 2 },
    ]);
  });

  it.each([
    ['the open one', 0, [0, 0]],
    ['another one', -minute, [-minute]],
  ])('tells of points after %s was spoilt', (_, startMs, expected) => {
    const { open, stale } = fresh();
    open.fold(0, columnsOf([1, 1]), 0, 1);
    open.spoil(0, startMs);
    open.fold(0, columnsOf([2, 1]), 0, 1);
    expect(stale).toEqual(expected);
  });
});
