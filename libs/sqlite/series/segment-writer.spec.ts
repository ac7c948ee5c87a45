import { expect, it } from '@jest/globals';
import { Points } from './points.js';
import { SegmentWriter } from './segment-writer.js';

/** Points a minute, and for how many minutes. */
type Stay = readonly [perMinute: number, minutes: number];

const beginMs = 1_700_006_400_000;
const often: Stay = [60, 600];
const seldom: Stay = [1, 600];
const brief: Stay = [1, 3];
const times = <T>(count: number, ...some: readonly T[]): T[] => Array.from({ length: count }, () => some).flat();

function pointsOf(stays: readonly Stay[]): Points {
  const points = new Points(stays.reduce((sum, [perMinute, minutes]) => sum + perMinute * minutes, 0));
  let timeMs = beginMs;
  for (const [perMinute, minutes] of stays) {
    for (let at = 0; at < perMinute * minutes; at++, timeMs += 60_000 / perMinute) points.timeMs[points.length++] = timeMs;
  }
  return points;
}

/** The levels of each segment, of 6,400 rows at most. */
function levelsOf(series: readonly (readonly Stay[])[]): string[] {
  const writer = new SegmentWriter(
    1,
    () => 1,
    () => undefined,
    6400,
  );
  for (const [at, stays] of series.entries()) {
    const points = pointsOf(stays);
    writer.add(at + 1, points, 0, points.length);
  }
  return writer.finish().map(({ rows }) => Object.keys(rows).join(' '));
}

it.each<[string, readonly (readonly Stay[])[], readonly string[]]>([
  ['a series that sends often', [[often]], ['1m 1h']],
  ['one that sends seldom', [[seldom]], ['1h']],
  ['many that have sent little', times(300, [brief]), ['']],
  ['one that sends often, before many that have sent little', [[often], ...times(300, [brief])], ['1m 1h', '']],
  [
    'one that sends often, among many that have sent little',
    [...times(300, [brief]), [often], ...times(300, [brief])],
    ['', '1m', '1m 1h', ''],
  ],
  ['one that begins to send often, and ends it', [[seldom, often, seldom]], ['1h', '1m 1h', '1h']],
  ['short ones of both kinds, in turn', times(100, [[60, 3] as const], [brief]), ['1m']],
  ['those that hardly differ', times(20, [[3, 100] as const], [[5, 100] as const]), ['1h']],
  ['more rows than a segment has', times(12, [often]), ['1m 1h', '1m 1h']],
])('a segment has the rows that are worth their room: %s', (_, series, expected) => {
  expect(levelsOf(series)).toEqual(expected);
});
