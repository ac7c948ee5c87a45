import type { RollupRows } from '#model';
import { ArenaMemory, type LentArena } from './arena.js';
import type { PointStream } from './point-stream.js';
import { lowerBound, Points } from './points.js';
import { sortPoints } from './sort-points.js';
import { inOrder, TagSets } from './tag-sets.js';

export interface OpenArena {
  readonly number: number;
  readonly memory: ArenaMemory;
  readonly heads: Int32Array;
  /** As the memory numbers them. */
  readonly tagSets: string[];
}

/** The arenas that the reader thread was lent last. */
export class LentArenas {
  #last = new Map<number, Omit<OpenArena, 'heads'>>();

  /** To be called for every request, in the order in which they were made. */
  open(lent: readonly LentArena[]): OpenArena[] {
    const arenas = lent.map(({ number, pieces, newChunks, size, heads, newTagSets }) => {
      const known = this.#last.get(number);
      const memory = pieces ? new ArenaMemory(pieces, size) : known!.memory;
      for (const chunk of newChunks) memory.add(chunk);
      const tagSets = pieces ? [] : known!.tagSets;
      for (const text of newTagSets) tagSets.push(text);
      return { number, memory, heads, tagSets };
    });
    this.#last = new Map(arenas.map((arena) => [arena.number, arena]));
    return arenas;
  }
}

/** Memory that the reader of an arena needs, kept from one read to the next unless a read needs very much. */
export class ArenaScratch {
  #taken = new Points(256);
  #spare = new Points(256);

  room(count: number): { taken: Points; spare: Points } {
    if (count > maxKept) return { taken: new Points(count), spare: new Points(count) };
    if (count > this.#taken.timeMs.length) {
      this.#taken = new Points(2 * count);
      this.#spare = new Points(2 * count);
    }
    this.#taken.length = 0;
    return { taken: this.#taken, spare: this.#spare };
  }
}

const maxKept = 64 * 1024;

/** What an arena has of one series: its pieces as they came, and the place of the tag set of each in the order of all of them. */
interface Pieces {
  readonly numbers: readonly number[];
  readonly places: Uint32Array;
  readonly tagSets: readonly string[];
  readonly points: number;
}

/** Rows [at, end) of points. */
interface Slice {
  readonly points: Points;
  readonly at: number;
  readonly end: number;
}

/** Reads one arena; series are named by their position in the request. */
export class ArenaReader {
  /** Of the series that was asked for last. */
  #position = -1;
  #pieces: Pieces | undefined;
  #all: Points | undefined;

  constructor(
    private readonly arena: OpenArena,
    private readonly scratch: ArenaScratch,
  ) {}

  /** The points of a series with times in [fromMs, toMs). The next call reuses their memory. */
  points(position: number, fromMs: number, toMs: number): PointStream {
    const slice = this.#slice(position, fromMs, toMs);
    let given = slice.at === slice.end;
    return { ...slice, next: () => !given && (given = true) };
  }

  /** Appends the rows of a series' buckets in [fromMs, toMs), both at edges of buckets. */
  rows(position: number, sizeMs: number, fromMs: number, toMs: number, into: RollupRows): void {
    if (this.arena.heads[position]! < 0) return;
    const { points, at, end } = this.#slice(position, fromMs, toMs);
    into.begin();
    into.fold(sizeMs, points.timeMs, points.value, at, end);
  }

  /**
   * Gathers what the first call for a series asks for, and in the second all points of the series, which then serve the calls after it: a read asks once for
   * each bucket that is far from the one before, and to gather the points for each would take minutes.
   */
  #slice(position: number, fromMs: number, toMs: number): Slice {
    if (position !== this.#position) {
      this.#position = position;
      this.#pieces = this.#find(position);
      this.#all = undefined;
      const points = this.#gather(this.#pieces, fromMs, toMs);
      return { points, at: 0, end: points.length };
    }
    const points = (this.#all ??= this.#gather(this.#pieces!, -Infinity, Infinity));
    const at = lowerBound(points.timeMs, fromMs, 0, points.length);
    return { points, at, end: lowerBound(points.timeMs, toMs, at, points.length) };
  }

  #gather({ numbers, places, tagSets, points }: Pieces, fromMs: number, toMs: number): Points {
    const { taken, spare } = this.scratch.room(points);
    taken.tagSets = tagSets;
    for (let at = 0; at < numbers.length; at++) this.arena.memory.copyPiece(numbers[at]!, places[at]!, fromMs, toMs, taken);
    return sortPoints(taken, spare);
  }

  #find(position: number): Pieces {
    const { memory, heads, tagSets } = this.arena;
    const numbers: number[] = [];
    let points = 0;
    for (let piece = heads[position]!; piece >= 0; piece = memory.before(piece)) {
      numbers.push(piece);
      points += memory.length(piece);
    }
    numbers.reverse();
    const used = new TagSets();
    const places = Uint32Array.from(numbers, (piece) => used.number(tagSets[memory.tag(piece)]!));
    const ordered = inOrder(used.texts);
    for (let at = 0; at < places.length; at++) places[at] = ordered.places[places[at]!]!;
    return { numbers, places, tagSets: ordered.tagSets, points };
  }
}
