import { describe, expect, it } from '@jest/globals';
import { type Keep, Keeper } from './keeper.js';
import { type Boundaries, fromTheBeginning } from './kept.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const keep: Keep = { raw: 2 * dayMs, '1m': 3 * dayMs, '1h': 3 * dayMs, '1d': Infinity };

/** What is wanted once records were received at these hours, in days. */
function wantedAfter(hours: readonly number[], before: Boundaries = fromTheBeginning): number[] {
  const keeper = new Keeper(keep, before);
  for (const hour of hours) {
    const due = keeper.due(hour * hourMs);
    if (due) keeper.move(due);
  }
  const { raw, '1m': minutes, '1h': allHours, '1d': days } = keeper.wanted;
  return [raw, minutes, allHours, days].map((ms) => ms / dayMs);
}

const of = (raw: number): Boundaries => ({ raw: raw * dayMs, '1m': 0, '1h': 0, '1d': 0 });
const inYears = 24 * 365 * 30;

describe('points are kept for two days, rollups of hours for three', () => {
  it.each<[string, readonly number[], Boundaries, readonly number[]]>([
    ['nothing has come', [], fromTheBeginning, [0, 0, 0, 0]],
    ['one record alone decides nothing', [240], fromTheBeginning, [0, 0, 0, 0]],
    ['less than an hour decides nothing', [240, 240.9], fromTheBeginning, [0, 0, 0, 0]],
    ['an hour decides', [240, 241], fromTheBeginning, [8, 7, 7, 0]],
    ['whole days go', [263, 264], fromTheBeginning, [8, 7, 7, 0]],
    ['a day later one more goes', [240, 241, 265, 266], fromTheBeginning, [9, 8, 8, 0]],
    ['the clock was ahead for less than an hour', [240, 241, inYears, inYears + 0.9, 242], fromTheBeginning, [8, 7, 7, 0]],
    ['the clock jumps ahead before an hour is over', [240, inYears], fromTheBeginning, [8, 7, 7, 0]],
    ['the clock was behind', [240, 241, 1, 2, 3], fromTheBeginning, [8, 7, 7, 0]],
    ['the time was shorter before', [240, 241], of(9), [9, 7, 7, 0]],
  ])('%s: %j', (_, hours, before, expected) => {
    expect(wantedAfter(hours, before)).toEqual(expected);
  });
});

it('leaves points out that come too late, and counts them', () => {
  const keeper = new Keeper(keep, of(9));
  const at = [8 * dayMs, 9 * dayMs - 1, 9 * dayMs];
  const run = { metric: 'm', tags: '', timestampMs: Float64Array.from(at), value: Float64Array.of(1, 2, 3) };
  const old = { ...run, timestampMs: Float64Array.of(1), value: Float64Array.of(1) };
  const batch = { orgId: 'o', sourceId: 's', receivedMs: 0, series: [run, old] };
  expect(keeper.timely(batch).series).toEqual([{ ...run, timestampMs: Float64Array.of(9 * dayMs), value: Float64Array.of(3) }]);
  expect(keeper.late).toBe(3);
});
