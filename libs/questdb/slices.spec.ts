import { expect, it } from '@jest/globals';
import { maxTimestampMs } from '#model';
import { maxPartitions } from './questions.js';
import { Slices } from './slices.js';
import type { Sql } from './sql.js';
import { tablesOf } from './tables.js';

const [hourMs, dayMs] = [3_600_000, 86_400_000];
const begin = Date.UTC(2023, 0, 1);

/** Slices of a table whose partitions begin with rows at these times; one more has no rows. */
const slicesOf = (firstMs: readonly number[]): Slices => {
  const rows = () => Promise.resolve([[null], ...firstMs.map((ms) => [ms])]);
  return new Slices({ rows } as unknown as Sql, tablesOf(1));
};

it.each([
  ['hours', hourMs, maxPartitions + 23],
  ['days', dayMs, maxPartitions],
  ['months', 30 * dayMs, maxPartitions],
])(
  'A window over partitions of %s is cut into slices of a bounded number of them, at starts of days and without a gap',
  async (_, sizeMs, max) => {
    // The first row of a partition may stand anywhere in it.
    const firstMs = Array.from({ length: 5 * maxPartitions }, (__, at) => begin + at * sizeMs + ((at * 7919) % sizeMs));
    const slices = await slicesOf(firstMs).of('points', { startMs: 0, endMs: Infinity });
    expect(slices.length).toBeGreaterThan(4);
    expect([slices[0]!.startMs, slices.at(-1)!.endMs]).toEqual([0, maxTimestampMs + 1]);
    expect(slices.slice(1).map(({ startMs }) => startMs)).toEqual(slices.slice(0, -1).map(({ endMs }) => endMs));
    expect(slices.filter(({ startMs }) => startMs % dayMs !== 0)).toEqual([]);
    for (const { startMs, endMs } of slices) {
      const partitions = new Set(firstMs.filter((ms) => ms >= startMs && ms < endMs).map((ms) => Math.floor((ms - begin) / sizeMs)));
      expect(partitions.size).toBeLessThanOrEqual(max);
    }
  },
);

it('A window that cannot hold many partitions is asked for as it is, and an empty one not at all', async () => {
  const slices = slicesOf([]);
  await expect(slices.of('points', { startMs: begin + 0.5, endMs: begin + hourMs })).resolves.toEqual([
    { startMs: begin + 1, endMs: begin + hourMs },
  ]);
  await expect(slices.of('points', { startMs: begin, endMs: begin })).resolves.toEqual([]);
});
