import { describe, expect, it } from '@jest/globals';
import type { StreamRecord } from '#log';
import { points } from '#topics';
import { countRecords, slicesOf, SourceCensus, type Census } from './census.js';

/** Sources of as many series each, all of one size. */
function censusOf(sources: number, series: number, size: number): Census {
  const census = new Map<string, SourceCensus>();
  for (let at = 0; at < sources; at++) {
    const source = new SourceCensus('o', `s${at}`);
    for (let metric = 0; metric < series; metric++) source.points.set(`m${metric}`, size);
    census.set(`o/s${at}`, source);
  }
  return census;
}

const seriesIn = (census: Census, maxPoints: number): number[] =>
  slicesOf(census, maxPoints).map((slice) => slice.values().reduce((sum, { metrics }) => sum + metrics.length, 0));

describe('a slice', () => {
  it.each([
    ['large series, by their points', censusOf(1, 4, 500), 1_100, [2, 2]],
    ['a series that is larger than a slice, alone', censusOf(1, 2, 5_000), 1_000, [1, 1]],
    ['small series, by what each takes however small it is', censusOf(100, 1, 1), 1_000, [30, 30, 30, 10]],
  ])('takes %s', (_, census, maxPoints, expected) => {
    expect(seriesIn(census, maxPoints)).toEqual(expected);
  });
});

it('counts no metric without points, which the store does not name either', () => {
  const run = (metric: string, ...values: number[]) => ({
    metric,
    tags: '',
    timestampMs: Float64Array.from(values),
    value: Float64Array.from(values),
  });
  const value = { orgId: 'o', sourceId: 's', receivedMs: 1, series: [run('none'), run('two', 1, 2), run('none')] };
  const census = new Map<string, SourceCensus>();
  countRecords([{ topic: points, partition: 0, offset: 0, key: 'o/s', value } as unknown as StreamRecord], () => true, census);
  expect([...census.get('o/s')!.points]).toEqual([['two', 2]]);
});
