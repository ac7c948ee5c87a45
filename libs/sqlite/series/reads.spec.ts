import { expect, it } from '@jest/globals';
import { allKept } from './kept.js';
import { Reads, type ReadRequest } from './reads.js';
import type { RunReader } from './run-reader.js';

it.each<[string, (reads: Reads) => unknown]>([
  ['points', (reads) => reads.raw()],
  ['buckets', (reads) => reads.buckets('1m')],
  ['the latest values', (reads) => reads.latest()],
])('Series are read in the order in which they lie in a run, so that no block is opened twice: %s', (_, read) => {
  const seen: number[] = [];
  const run = {
    run: { lastArena: 1 },
    points: (series: number) => {
      seen.push(series);
      return { next: () => false };
    },
    rows: (_metric: number, series: number) => seen.push(series),
  };
  const series = Uint32Array.of(7, 2, 9, 4);
  const window = { startMs: 0, endMs: 1 };
  const request: ReadRequest = {
    series,
    metrics: new Uint32Array(4),
    arenas: [],
    window,
    limit: 10,
    interval: undefined,
    fleet: false,
    deadlineMs: Infinity,
  };
  read(new Reads([run as unknown as RunReader], [], request, { kept: allKept, archives: [] }, () => undefined));
  expect([...new Set(seen)]).toEqual([2, 4, 7, 9]);
});
