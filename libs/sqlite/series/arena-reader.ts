import type { RollupRows } from '#model';
import { ArenaColumns, type ArenaSize } from './arena.js';
import type { PointStream } from './point-stream.js';
import { Points } from './points.js';
import { sortPoints } from './sort-points.js';

/** An arena as it is lent to a read: the newest piece of each series that the read asks for, in the order of the request. */
export interface LentArena {
  readonly number: number;
  /** Undefined when the read before this one was lent the same arena: giving it away once more costs as much as a small read. */
  readonly buffer: SharedArrayBuffer | undefined;
  readonly size: ArenaSize;
  readonly heads: Int32Array;
}

export interface OpenArena {
  readonly number: number;
  readonly columns: ArenaColumns;
  readonly heads: Int32Array;
}

/** What a thread was lent last. */
export class LentArenas {
  #columns = new Map<number, ArenaColumns>();

  /** To be called for every request, in the order in which they were made. */
  open(lent: readonly LentArena[]): OpenArena[] {
    const arenas = lent.map(({ number, buffer, size, heads }) => {
      const columns = buffer ? new ArenaColumns(buffer, size) : this.#columns.get(number)!;
      return { number, columns, heads };
    });
    this.#columns = new Map(arenas.map(({ number, columns }) => [number, columns]));
    return arenas;
  }
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
  constructor(
    private readonly arena: OpenArena,
    private readonly scratch: ArenaScratch,
  ) {}

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
    if (this.arena.heads[position]! < 0) return;
    const points = this.#collect(position, fromMs, toMs);
    into.begin();
    into.fold(sizeMs, points.timeMs, points.value, 0, points.length);
  }

  #collect(position: number, fromMs: number, toMs: number): Points {
    const { columns, heads } = this.arena;
    const { begin, before } = columns;
    const pieces: number[] = [];
    let count = 0;
    for (let piece = heads[position]!; piece >= 0; piece = before[piece]!) {
      pieces.push(piece);
      count += begin[piece + 1]! - begin[piece]!;
    }
    const { taken, spare } = this.scratch.room(count);
    for (const piece of pieces.reverse()) columns.copyPiece(piece, 0, fromMs, toMs, taken);
    return sortPoints(taken, spare);
  }
}
