import { describe, expect, it } from '@jest/globals';
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
    for (const time of times) open.fold(0, time, 1);
    expect(open.mayBegin(0, startMs)).toBe(mayBegin);
  });

  it('takes no point of an earlier one, which other tags may still bring, and goes on', () => {
    const { open, stale } = fresh();
    for (const time of [minute, 1, minute + 1]) open.fold(0, time, 1);
    expect(stale).toEqual([0]);
    expect(open.takeChanged(0)).toMatchObject({ startMs: minute, count: 2 });
  });

  it.each([
    ['the open one', 0, [0, 0]],
    ['another one', -minute, [-minute]],
  ])('tells of points after %s was spoilt', (_, startMs, expected) => {
    const { open, stale } = fresh();
    open.fold(0, 1, 1);
    open.spoil(0, startMs);
    open.fold(0, 2, 1);
    expect(stale).toEqual(expected);
  });
});
