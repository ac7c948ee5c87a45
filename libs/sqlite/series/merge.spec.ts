import { expect, it } from '@jest/globals';
import { Random } from '#testing';
import { mergeable } from './merge.js';
import type { Run } from './run.js';

const nowhere = { key: 1, timeMs: 0 };
const fullArena = 2 ** 21;
const freeShare = 1 / 8;
const smallMerge = 2 ** 28;

const runOf = (level: number, points: number, firstArena: number, lastArena: number): Run => ({
  id: lastArena,
  level,
  firstArena,
  lastArena,
  points,
  firstMs: 0,
  lastMs: 0,
  raw: { blocks: 1, last: nowhere },
  segments: [],
  offsets: {},
});

const pointsOf = (runs: readonly Run[]): number => runs.reduce((sum, { points }) => sum + points, 0);

/** The most runs that there are at any time, and whether each merge was small or fitted into what the file keeps free. */
function grow(arenas: number, size: (arena: number) => number): { readonly most: number; readonly fits: boolean; readonly levels: number } {
  const runs: Run[] = [];
  let [most, fits] = [0, true];
  for (let arena = 1; arena <= arenas; arena++) {
    runs.push(runOf(0, size(arena), arena, arena));
    for (let some = mergeable(runs); some; some = mergeable(runs)) {
      const merged = runOf(some[0]!.level + 1, pointsOf(some), some[0]!.firstArena, some.at(-1)!.lastArena);
      fits &&= merged.points <= Math.max(smallMerge, freeShare * pointsOf(runs));
      runs.splice(runs.indexOf(some[0]!), some.length, merged);
    }
    most = Math.max(most, runs.length);
  }
  return { most, fits, levels: Math.max(...runs.map(({ level }) => level)) };
}

const random = new Random(1);

it.each<[string, number, (arena: number) => number, number]>([
  ['little', 2_000, () => 1_000, 3],
  ['two billion points', 1_000, () => fullArena, 2],
  ['twenty billion points', 10_000, () => fullArena, 3],
  ['arenas of all sizes', 10_000, () => random.whole(1, fullArena), 3],
  ['full arenas in bursts', 10_000, (arena) => (arena % 1_000 < 700 ? fullArena : 20_000), 3],
])('there are fewer than a hundred runs, and no merge takes much room: %s', (_, arenas, size, levels) => {
  const grown = grow(arenas, size);
  expect(grown).toMatchObject({ fits: true, levels });
  expect(grown.most).toBeLessThan(100);
});
