import { describe, expect, it } from '@jest/globals';
import { FirstRows, nthSmallest } from './first-rows.js';

/** A repeatable stream of numbers in [0, 1). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}

/** Rows as (time, series), by a plain sort. */
function expected(series: readonly number[][], limit: number) {
  const rows = series.flatMap((times, at) => times.map((timeMs) => ({ timeMs, at })));
  const kept = rows.toSorted((a, b) => a.timeMs - b.timeMs || a.at - b.at).slice(0, limit);
  return { series: series.map((_, at) => kept.filter((row) => row.at === at).map((row) => row.timeMs)), truncated: rows.length > limit };
}

const first = new FirstRows(2);

function selected(series: readonly number[][], limit: number, order: readonly number[]) {
  first.begin(limit, series.length);
  for (const at of order) {
    const times = Float64Array.from(series[at]!);
    const middle = times.length >> 1;
    const places = times.map((_, place) => place);
    first.add(at, [times, places], 0, middle);
    first.add(at, [times, places], middle, times.length);
  }
  const { counts, columns, truncated } = first.finish();
  let begin = 0;
  const kept = Array.from(counts, (count, at) => {
    const [times, places] = columns.map((column) => [...column.subarray(begin, begin + count)]) as [number[], number[]];
    begin += count;
    // The first of each series, in the order in which they came.
    expect(places).toEqual([...places.keys()]);
    expect(times).toEqual(series[at]!.slice(0, count));
    return times;
  });
  return { series: kept, truncated };
}

describe('the first rows of all series', () => {
  it.each([
    [[[1, 2, 3]], 2],
    [[[1, 2, 3]], 3],
    [[[1], [1], [1]], 2],
    [[[5], [1, 5], [1, 5]], 4],
    [[[], [7], []], 1],
    [[], 10],
    [
      [
        [1, 1, 1],
        [1, 1],
      ],
      2,
    ],
    [
      [
        [1, 1, 1],
        [1, 1],
      ],
      4,
    ],
    [
      [
        [0, 1, 1],
        [1, 1],
        [1, 1, 2],
      ],
      5,
    ],
  ])('of %j with limit %i are those of a sort', (series, limit) => {
    expect(selected(series, limit, [...series.keys()])).toEqual(expected(series, limit));
  });

  it.each(Array.from({ length: 60 }, (_, seed) => seed))('of random series, seed %i, are those of a sort', (seed) => {
    const random = numbers(seed);
    const spread = 10 ** Math.ceil(5 * random());
    const distinct = random() < 0.5;
    const series = Array.from({ length: 1 + Math.floor(40 * random()) }, () => {
      const times = Array.from({ length: Math.floor(400 * random()) }, () => Math.floor(spread * random()));
      return [...(distinct ? new Set(times) : times)].sort((a, b) => a - b);
    });
    const order = [...series.keys()].sort(() => random() - 0.5);
    const limit = 1 + Math.floor(300 * random());
    expect(selected(series, limit, order)).toEqual(expected(series, limit));
  });
});

it.each(Array.from({ length: 20 }, (_, seed) => seed))('the nth smallest, seed %i, is that of a sort', (seed) => {
  const random = numbers(seed);
  const values = Float64Array.from({ length: 1 + Math.floor(200 * random()) }, () => Math.floor(50 * random()));
  const sorted = values.toSorted();
  for (let nth = 0; nth < values.length; nth++) expect(nthSmallest(values.slice(), values.length, nth)).toBe(sorted[nth]);
});
