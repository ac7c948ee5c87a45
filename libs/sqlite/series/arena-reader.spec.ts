import { expect, it } from '@jest/globals';
import { noTags } from '#model';
import { Arena, ArenaMemory } from './arena.js';
import { ArenaReader, ArenaScratch } from './arena-reader.js';

const size = { chunks: 1, chunkPoints: 1024, pieces: 64 };
const series = 1;

/** Counts the pieces that are copied. */
class CountedMemory extends ArenaMemory {
  copied = 0;

  override copyPiece(...piece: Parameters<ArenaMemory['copyPiece']>): void {
    this.copied++;
    super.copyPiece(...piece);
  }
}

/** An arena with one point a piece, in any order. */
function readerOf(times: readonly number[]): { reader: ArenaReader; memory: CountedMemory } {
  const memory = new CountedMemory(ArenaMemory.memoryForPieces(size), size);
  const arena = new Arena(1, memory, () => ArenaMemory.memoryForChunk(size));
  for (const time of times)
    arena.take(series, { metric: 'm', tags: noTags, timestampMs: Float64Array.of(time), value: Float64Array.of(-time) }, 0);
  const open = { number: 1, memory, heads: arena.heads([series]), tagSets: [...arena.tagSets] };
  return { reader: new ArenaReader(open, new ArenaScratch()), memory };
}

const times = [50, 10, 40, 10, 30, 20];

it.each<[string, readonly (readonly [fromMs: number, toMs: number])[], readonly (readonly number[])[], number]>([
  ['one window', [[20, 50]], [[20, 30, 40]], 1],
  [
    'two windows',
    [
      [10, 20],
      [40, 60],
    ],
    [[10], [40, 50]],
    2,
  ],
  ['each moment by itself', [0, 10, 20, 30, 40, 50].map((from) => [from, from + 10]), [[], [10], [20], [30], [40], [50]], 2],
  [
    'backwards and empty',
    [
      [50, 60],
      [21, 29],
      [0, 0],
    ],
    [[50], [], []],
    2,
  ],
])('a read gathers the points of a series twice at most: %s', (_, windows, expected, gathered) => {
  const { reader, memory } = readerOf(times);
  const found = windows.map(([fromMs, toMs]) => {
    const stream = reader.points(0, fromMs, toMs);
    return stream.next() ? [...stream.points.timeMs.subarray(stream.at, stream.end)] : [];
  });
  expect(found).toEqual(expected);
  expect(memory.copied).toBe(gathered * times.length);
});
