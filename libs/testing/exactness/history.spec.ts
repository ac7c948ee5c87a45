import { describe, expect, it } from '@jest/globals';
import { rowCap, timeOf } from './fold.js';
import { history, type History } from './history.js';
import type { SentPoint } from './world.js';

const nowMs = Date.UTC(2026, 10, 21, 12, 34);
const histories = Array.from({ length: 300 }, (_, seed) => history(seed, 'x', nowMs));
const bodies = histories.flatMap((told) => told.bodies.map(({ org, body }) => ({ org, body, told })));
const points = bodies.flatMap(({ body }) => body.points);
const numbers = points.filter((point) => point.class !== 'event').map(({ value }) => value as number);
const timesMs = points.map(({ timestamp }) => timeOf(timestamp)!);

const key = ({ metric, timestamp }: SentPoint): string => `${metric} ${timeOf(timestamp)}`;
/** Points of a body that name a point which came before in it, with another value. */
const contradictions = (some: readonly SentPoint[]): number => {
  const values = new Map<string, unknown>();
  return some.filter((point) => {
    const differs = values.has(key(point)) && values.get(key(point)) !== point.value;
    values.set(key(point), point.value);
    return differs;
  }).length;
};

const differsInTags = (some: readonly SentPoint[]): boolean => {
  const tagged = Map.groupBy(some, (point) => JSON.stringify({ ...point, tags: undefined }));
  return [...tagged.values()].some((equal) => new Set(equal.map(({ tags }) => JSON.stringify(tags))).size > 1);
};

/** Whether one source of one organization has more numeric points than the cap, each counted once. */
function hasManyRows(told: History): boolean {
  const rows = told.bodies.flatMap(({ org, body }) =>
    body.points
      .filter((point) => point.class !== 'event')
      .map((point) => [`${org} ${point.source_id ?? body.source_id}`, key(point)] as const),
  );
  return [...Map.groupBy(rows, ([source]) => source).values()].some((some) => new Set(some.map(([, row]) => row)).size > rowCap);
}

describe('300 random histories hold what they are for', () => {
  it('one seed tells one history', () => {
    expect(history(7, 'x', nowMs)).toEqual(history(7, 'x', nowMs));
    expect(history(7, 'x', nowMs)).not.toEqual(history(8, 'x', nowMs));
  });

  it.each([
    ['both organizations in one history', histories.filter((told) => new Set(told.bodies.map(({ org }) => org)).size === 2).length],
    ['bodies sent again whole', bodies.filter(({ body, told }) => told.bodies.filter((other) => other.body === body).length > 1).length],
    ['bodies of 10,000 points', bodies.filter(({ body }) => body.points.length === 10_000).length],
    ['more rows of a source than one answer holds', histories.filter(hasManyRows).length],
    ['empty bodies', bodies.filter(({ body }) => body.points.length === 0).length],
    ['one point twice in a body with other values', bodies.filter(({ body }) => contradictions(body.points) > 0).length],
    [
      'out of order in a body',
      bodies.filter(({ body: { points: some } }) => some.some((point, at) => timeOf(point.timestamp)! < timeOf(some[at - 1]?.timestamp)!))
        .length,
    ],
    ['events', points.filter((point) => point.class === 'event').length],
    ['points that differ in their tags alone', bodies.filter(({ body }) => differsInTags(body.points)).length],
    ['tags', points.filter(({ tags }) => tags).length],
    ["a point's own source", points.filter(({ source_id: id }) => id).length],
    ['seconds', points.filter(({ timestamp }) => timestamp < 1e12).length],
    ['microseconds', points.filter(({ timestamp }) => timestamp >= 1e14 && timestamp < 1e17).length],
    ['nanoseconds', points.filter(({ timestamp }) => timestamp >= 1e17).length],
    ['1970', timesMs.filter((timeMs) => timeMs < Date.UTC(1971, 0)).length],
    ['the last hour', timesMs.filter((timeMs) => Math.abs(timeMs - nowMs) < 3_600_000).length],
    ['far ahead', timesMs.filter((timeMs) => timeMs > Date.UTC(3000, 0)).length],
    ['huge values', numbers.filter((value) => value > 1e307).length],
    ['tiny values', numbers.filter((value) => value !== 0 && Math.abs(value) < 1e-300).length],
    ['negative zero', numbers.filter((value) => Object.is(value, -0)).length],
  ])('%s', (_, count) => {
    expect(count).toBeGreaterThan(0);
  });
});
