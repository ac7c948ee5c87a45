import type { SeriesRun } from '#model';
import type { KeptSince } from '../boundaries.js';
import type { DirectoryColumns, OpenedNames } from './directory-rows.js';
import type { EndedSeries } from './ended.js';
import type { Boundaries, Kept } from './kept.js';
import type { Points } from './points.js';
import { TagSets } from './tag-sets.js';

/** How many points and pieces an arena has room for. A piece is what one batch brought of one series with one set of tags. */
export interface ArenaSize {
  readonly points: number;
  readonly pieces: number;
}

/** What a store holds when it is opened. */
export interface OpenedStore {
  readonly names: OpenedNames;
  readonly lastArena: number;
  readonly offsets: Readonly<Record<number, number>>;
  readonly wanted: Boundaries;
  readonly since: KeptSince;
  /** Deletions that it knows of and that stand behind all that it holds, by offset. */
  readonly ahead: readonly Omit<EndedSeries, 'series'>[];
}

/** An arena that takes no more points, and the names that became known while it was filled. */
export interface SealedArena {
  readonly number: number;
  readonly buffer: SharedArrayBuffer;
  readonly size: ArenaSize;
  readonly points: number;
  readonly pieces: number;
  /** As its columns number them, the empty one first. */
  readonly tagSets: readonly string[];
  readonly directory: DirectoryColumns;
  /** What deletions have ended meanwhile. */
  readonly ended: readonly EndedSeries[];
  readonly offsets: Readonly<Record<number, number>>;
  /** The offset after the last record that it has points of; the next arena may have the rest of them. */
  readonly next: number;
  /** What is to be kept from then on, where that changes: no later arena has points from before. */
  readonly wanted: Pick<Kept, 'wanted' | 'asOfMs'> | undefined;
}

/** An arena as it is lent to a read: the newest piece of each series that the read asks for, in the order of the request. */
export interface LentArena {
  readonly number: number;
  /** Undefined when the read before this one was lent the same arena: sending the buffer again would cost as much as a small read. */
  readonly buffer: SharedArrayBuffer | undefined;
  readonly size: ArenaSize;
  readonly heads: Int32Array;
  /** Tag sets that the reader does not have from the read before this one. */
  readonly newTagSets: readonly string[];
}

/** The columns of an arena, in memory that all threads see. Pieces stand in the order in which they came. */
export class ArenaColumns {
  readonly timeMs: Float64Array;
  readonly value: Float64Array;
  readonly series: Uint32Array;
  /** Where a piece's points begin; they end where the next one's begin. */
  readonly begin: Uint32Array;
  readonly tag: Uint32Array;
  /** The piece of the same series before this one, -1 when there is none. */
  readonly before: Int32Array;

  constructor(
    readonly buffer: SharedArrayBuffer,
    readonly size: ArenaSize,
  ) {
    const { points, pieces } = size;
    this.timeMs = new Float64Array(buffer, 0, points);
    this.value = new Float64Array(buffer, 8 * points, points);
    this.series = new Uint32Array(buffer, 16 * points, pieces);
    this.begin = new Uint32Array(buffer, 16 * points + 4 * pieces, pieces + 1);
    this.tag = new Uint32Array(buffer, 16 * points + 8 * pieces + 4, pieces);
    this.before = new Int32Array(buffer, 16 * points + 12 * pieces + 4, pieces);
  }

  static allocate(size: ArenaSize): ArenaColumns {
    return new ArenaColumns(new SharedArrayBuffer(16 * size.points + 16 * size.pieces + 4), size);
  }

  /** Appends a piece's points with times in [fromMs, toMs) to `into`. */
  copyPiece(piece: number, tag: number, fromMs: number, toMs: number, into: Points): void {
    const { timeMs, value } = this;
    let to = into.length;
    for (let at = this.begin[piece]!; at < this.begin[piece + 1]!; at++) {
      const time = timeMs[at]!;
      if (time < fromMs || time >= toMs) continue;
      into.timeMs[to] = time;
      into.value[to] = value[at]!;
      into.tag[to] = tag;
      to++;
    }
    into.length = to;
  }
}

/** Takes points until it is full; one thread writes it. */
export class Arena {
  points = 0;
  pieces = 0;
  /** Reads in progress that may use this arena: its memory must not change. */
  readers = 0;
  /** The newest piece of each series, -1 for none. */
  #heads = new Int32Array(0);
  readonly #tagSets = new TagSets();
  #tagBytes = 0;

  constructor(
    readonly number: number,
    readonly columns: ArenaColumns,
  ) {
    columns.begin[0] = 0;
  }

  get full(): boolean {
    const { points, pieces } = this.columns.size;
    return this.points === points || this.pieces === pieces || this.#tagBytes > 16 * 1024 * 1024;
  }

  /** Tag sets of its points, as its columns number them. */
  get tagSets(): readonly string[] {
    return this.#tagSets.texts;
  }

  /** The newest piece of each of these series. */
  heads(series: ArrayLike<number>): Int32Array {
    const heads = new Int32Array(series.length);
    for (let at = 0; at < heads.length; at++) heads[at] = this.#heads[series[at]!] ?? -1;
    return heads;
  }

  /** Takes points of a series from position `from` on, as many as it has room for, and returns where it stopped. */
  take(series: number, { tags, timestampMs, value }: SeriesRun, from: number): number {
    const { columns } = this;
    const to = Math.min(timestampMs.length, from + columns.size.points - this.points);
    let end = this.points;
    for (let at = from; at < to; at++, end++) {
      columns.timeMs[end] = timestampMs[at]!;
      // -0 becomes 0, which it equals
      columns.value[end] = value[at]! + 0;
    }
    const piece = this.pieces++;
    this.points = end;
    columns.series[piece] = series;
    columns.tag[piece] = tags === '' ? 0 : this.#tagSet(tags);
    columns.begin[piece + 1] = end;
    columns.before[piece] = this.#move(series, piece);
    return to;
  }

  /** Notes the newest piece of a series and returns the one before it. */
  #move(series: number, piece: number): number {
    if (series >= this.#heads.length) {
      const grown = new Int32Array(Math.max(1024, Math.ceil(1.25 * series))).fill(-1);
      grown.set(this.#heads);
      this.#heads = grown;
    }
    const before = this.#heads[series]!;
    this.#heads[series] = piece;
    return before;
  }

  #tagSet(tags: string): number {
    const before = this.#tagSets.texts.length;
    const number = this.#tagSets.number(tags);
    if (number === before) this.#tagBytes += 3 * tags.length;
    return number;
  }
}
