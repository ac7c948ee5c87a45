import type { DatabaseSync } from 'node:sqlite';
import type { StoreOrigin } from '../store-origin.js';
import { transaction } from '../transaction.js';
import { ArenaColumns, type ArenaSize } from './arena.js';
import { type DirectoryNews, writeDirectory } from './directory-rows.js';
import { Points } from './points.js';
import { blockInsert, insertRun, type Run } from './run.js';
import { RunWriter } from './run-writer.js';
import { positionsByNumber, sortPoints } from './sort-points.js';
import { inOrder } from './tag-sets.js';

/** An arena that takes no more points, and the names that became known while it was filled. */
export interface SealedArena {
  readonly number: number;
  readonly buffer: SharedArrayBuffer;
  readonly size: ArenaSize;
  readonly points: number;
  readonly pieces: number;
  /** As its columns number them, the empty one first. */
  readonly tagSets: readonly string[];
  readonly directory: DirectoryNews;
  readonly offsets: Readonly<Record<number, number>>;
  /** The offset after the last record that it has points of; the next arena may have the rest of them. */
  readonly next: number;
}

/** Writes a sealed arena as one run, in one transaction with its names and its place in the log. */
export function flushArena(
  db: DatabaseSync,
  origin: StoreOrigin,
  runId: number,
  arena: SealedArena,
  metricOf: (series: number) => number,
): Run {
  return transaction(db, () => {
    origin.took(arena.next);
    writeDirectory(db, arena.directory);
    const { tagSets, places } = inOrder(arena.tagSets);
    const writer = new RunWriter(runId, metricOf, blockInsert(db));
    const columns = new ArenaColumns(arena.buffer, arena.size);
    // The pieces of each series stay in the order in which they came.
    const order = positionsByNumber(columns.series.subarray(0, arena.pieces));
    const taken = new Points(longestSeries(columns, order));
    taken.tagSets = tagSets;
    const spare = new Points(taken.timeMs.length);
    for (let at = 0; at < order.length;) {
      const series = columns.series[order[at]!]!;
      taken.length = 0;
      for (; at < order.length && columns.series[order[at]!] === series; at++) {
        const piece = order[at]!;
        columns.copyPiece(piece, places[columns.tag[piece]!]!, -Infinity, Infinity, taken);
      }
      const sorted = sortPoints(taken, spare);
      writer.add(series, sorted, 0, sorted.length);
    }
    const run: Run = { ...writer.finish(), level: 0, firstArena: arena.number, lastArena: arena.number, offsets: arena.offsets };
    insertRun(db, run);
    return run;
  });
}

function longestSeries({ series, begin }: ArenaColumns, order: Uint32Array): number {
  let longest = 0;
  let length = 0;
  for (let at = 0; at < order.length; at++) {
    const piece = order[at]!;
    if (at > 0 && series[piece] !== series[order[at - 1]!]) length = 0;
    length += begin[piece + 1]! - begin[piece]!;
    longest = Math.max(longest, length);
  }
  return longest;
}
