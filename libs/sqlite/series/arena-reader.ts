import type { RollupRows } from '#model';
import { ArenaColumns, type ArenaSize } from './arena.js';
import type { PointStream } from './point-stream.js';
import { Points } from './points.js';
import { sortPoints } from './sort-points.js';

/** An arena as a reader gets it: the newest piece of each series it asks for, in the order of the request. */
export interface OpenArena {
  readonly number: number;
  readonly buffer: SharedArrayBuffer;
  readonly size: ArenaSize;
  readonly heads: Int32Array;
}

/** Memory that the reader of an arena needs, kept from one read to the next unless a read needs very much. */
export class ArenaScratch {
  #taken = new Points(256);
  #spare = new Points(256);

  room(count: number): { taken: Points; spare: Points } {
    if (count > mostKept) return { taken: new Points(count), spare: new Points(count) };
    if (count > this.#taken.timeMs.length) {
      this.#taken = new Points(2 * count);
      this.#spare = new Points(2 * count);
    }
    this.#taken.length = 0;
    return { taken: this.#taken, spare: this.#spare };
  }
}

const mostKept = 64 * 1024;

/** Reads one arena; series are named by their position in the request. */
export class ArenaReader {
  readonly #columns: ArenaColumns;

  constructor(
    private readonly arena: OpenArena,
    private readonly scratch: ArenaScratch,
  ) {
    this.#columns = new ArenaColumns(arena.buffer, arena.size);
  }

  /** The points of a series with times in [fromMs, toMs). The next call takes the memory of this one's. */
  points(position: number, fromMs: number, toMs: number): PointStream {
    const points = this.#collect(position, fromMs, toMs);
    let given = points.length === 0;
    return {
      points,
      at: 0,
      end: points.length,
      next: () => !given && (given = true),
    };
  }

  /** Appends the rows of a series' buckets in [fromMs, toMs), both at edges of buckets. */
  rows(position: number, sizeMs: number, fromMs: number, toMs: number, into: RollupRows): void {
    const points = this.#collect(position, fromMs, toMs);
    into.begin();
    into.fold(sizeMs, points.timeMs, points.value, 0, points.length);
  }

  #collect(position: number, fromMs: number, toMs: number): Points {
    const { begin, before } = this.#columns;
    const pieces: number[] = [];
    let count = 0;
    for (let piece = this.arena.heads[position]!; piece >= 0; piece = before[piece]!) {
      pieces.push(piece);
      count += begin[piece + 1]! - begin[piece]!;
    }
    const { taken, spare } = this.scratch.room(count);
    for (const piece of pieces.reverse()) this.#columns.copyPiece(piece, 0, fromMs, toMs, taken);
    return sortPoints(taken, spare);
  }
}
