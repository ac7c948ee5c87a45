import type { SeriesRun } from '#model';
import type { KeptSince } from '../boundaries.js';
import type { DirectoryColumns, OpenedNames } from './directory-rows.js';
import type { EndedSeries } from './ended.js';
import type { Boundaries, Kept } from './kept.js';
import type { Points } from './points.js';
import { TagSets } from './tag-sets.js';

/**
 * What an arena has room for. A piece is what one batch brought of one series with one set of tags; a chunk is memory for points, which an arena gets
 * as they come.
 */
export interface ArenaSize {
  readonly chunks: number;
  readonly chunkPoints: number;
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

/** The memory of an arena. */
export interface ArenaBuffers {
  readonly pieces: SharedArrayBuffer;
  readonly chunks: readonly SharedArrayBuffer[];
}

/** An arena that takes no more points, and the names that became known while it was filled. */
export interface SealedArena {
  readonly number: number;
  readonly buffers: ArenaBuffers;
  readonly size: ArenaSize;
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
  /** Undefined when the read before this one was lent the same arena: sending a buffer again would cost as much as a small read. */
  readonly pieces: SharedArrayBuffer | undefined;
  /** Chunks that the reader does not have from the read before this one. */
  readonly newChunks: readonly SharedArrayBuffer[];
  readonly size: ArenaSize;
  readonly heads: Int32Array;
  /** Tag sets that the reader does not have from the read before this one. */
  readonly newTagSets: readonly string[];
}

/** Memory for points, that all threads see. */
class Chunk {
  readonly timeMs: Float64Array;
  readonly value: Float64Array;

  constructor(
    readonly buffer: SharedArrayBuffer,
    points: number,
  ) {
    this.timeMs = new Float64Array(buffer, 0, points);
    this.value = new Float64Array(buffer, 8 * points, points);
  }
}

/** The columns of an arena, in memory that all threads see. Pieces stand in the order in which they came, and each has all of its points in one chunk. */
export class ArenaColumns {
  readonly series: Uint32Array;
  /** Where a piece's points begin, counted through all chunks; they end where the next one's begin. */
  readonly begin: Uint32Array;
  readonly tag: Uint32Array;
  /** The piece of the same series before this one, -1 when there is none. */
  readonly before: Int32Array;
  readonly #chunks: Chunk[] = [];

  constructor(
    private readonly pieces: SharedArrayBuffer,
    readonly size: ArenaSize,
    chunks: readonly SharedArrayBuffer[] = [],
  ) {
    const count = size.pieces;
    this.series = new Uint32Array(pieces, 0, count);
    this.begin = new Uint32Array(pieces, 4 * count, count + 1);
    this.tag = new Uint32Array(pieces, 8 * count + 4, count);
    this.before = new Int32Array(pieces, 12 * count + 4, count);
    for (const chunk of chunks) this.add(chunk);
  }

  static memoryForPieces = ({ pieces }: ArenaSize): SharedArrayBuffer => new SharedArrayBuffer(16 * pieces + 4);
  static memoryForChunk = ({ chunkPoints }: ArenaSize): SharedArrayBuffer => new SharedArrayBuffer(16 * chunkPoints);

  get buffers(): ArenaBuffers {
    return { pieces: this.pieces, chunks: this.#chunks.map(({ buffer }) => buffer) };
  }

  /** Adds a chunk, which takes the next points. */
  add(buffer: SharedArrayBuffer): Chunk {
    const chunk = new Chunk(buffer, this.size.chunkPoints);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** Appends a piece's points with times in [fromMs, toMs) to `into`. */
  copyPiece(piece: number, tag: number, fromMs: number, toMs: number, into: Points): void {
    const { chunkPoints } = this.size;
    const begin = this.begin[piece]!;
    const chunk = Math.floor(begin / chunkPoints);
    const { timeMs, value } = this.#chunks[chunk]!;
    const end = this.begin[piece + 1]! - chunk * chunkPoints;
    let to = into.length;
    for (let at = begin - chunk * chunkPoints; at < end; at++) {
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
  #chunk: Chunk | undefined;
  /** Where the chunk begins, counted through all of them. */
  #chunkBegin = 0;

  /** @param memory gives that of one chunk. */
  constructor(
    readonly number: number,
    readonly columns: ArenaColumns,
    private readonly memory: () => SharedArrayBuffer,
  ) {
    columns.begin[0] = 0;
  }

  get full(): boolean {
    const { chunks, chunkPoints, pieces } = this.columns.size;
    return this.points === chunks * chunkPoints || this.pieces === pieces || this.#tagBytes > 16 * 1024 * 1024;
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

  /** Takes points of a series from position `from` on, as many as there is room for in one chunk, and returns where it stopped. It must not be full. */
  take(series: number, { tags, timestampMs, value }: SeriesRun, from: number): number {
    const { columns } = this;
    const chunk = this.#chunkWithRoom();
    let end = this.points - this.#chunkBegin;
    const to = Math.min(timestampMs.length, from + columns.size.chunkPoints - end);
    for (let at = from; at < to; at++, end++) {
      chunk.timeMs[end] = timestampMs[at]!;
      // -0 becomes 0, which it equals
      chunk.value[end] = value[at]! + 0;
    }
    const piece = this.pieces++;
    this.points = this.#chunkBegin + end;
    columns.series[piece] = series;
    columns.tag[piece] = tags === '' ? 0 : this.#tagSet(tags);
    columns.begin[piece + 1] = this.points;
    columns.before[piece] = this.#move(series, piece);
    return to;
  }

  #chunkWithRoom(): Chunk {
    if (!this.#chunk || this.points - this.#chunkBegin === this.columns.size.chunkPoints) {
      // First of all, as there may be no memory.
      this.#chunk = this.columns.add(this.memory());
      this.#chunkBegin = this.points;
    }
    return this.#chunk;
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
