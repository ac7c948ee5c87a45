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
  /** As its memory numbers them, the empty one first. */
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

/** The numbers that the memory has of each piece, and the place of each of them. */
const pieceFields = 4;
const ofSeries = 0;
const ofTag = 1;
const ofBefore = 2;
const ofEnd = 3;

/**
 * The memory of an arena, which all threads see. Pieces stand in the order in which they came, and each has all of its points in one chunk. The numbers of a piece
 * stand side by side, and so do time and value of a point: a piece is then read from one place, and an arena that is not full uses no page of
 * memory behind its last piece and its last point.
 */
export class ArenaMemory {
  /** First a 0, which is where the first piece begins; then `pieceFields` numbers for each piece. */
  readonly #numbers: Int32Array;
  readonly #chunks: Float64Array[] = [];

  constructor(
    private readonly pieces: SharedArrayBuffer,
    readonly size: ArenaSize,
    chunks: readonly SharedArrayBuffer[] = [],
  ) {
    this.#numbers = new Int32Array(pieces);
    for (const chunk of chunks) this.add(chunk);
  }

  static memoryForPieces = ({ pieces }: ArenaSize): SharedArrayBuffer => new SharedArrayBuffer(4 * (pieceFields * pieces + 1));
  static memoryForChunk = ({ chunkPoints }: ArenaSize): SharedArrayBuffer => new SharedArrayBuffer(16 * chunkPoints);

  get buffers(): ArenaBuffers {
    return { pieces: this.pieces, chunks: this.#chunks.map(({ buffer }) => buffer as SharedArrayBuffer) };
  }

  /** Adds a chunk, which takes the next points: the time and the value of each. */
  add(buffer: SharedArrayBuffer): Float64Array {
    const chunk = new Float64Array(buffer);
    this.#chunks.push(chunk);
    return chunk;
  }

  /** @param before the piece of the same series before this one, -1 when there is none. @param end where its points end, counted through all chunks. */
  put(piece: number, series: number, tag: number, before: number, end: number): void {
    const at = 1 + pieceFields * piece;
    this.#numbers[at + ofSeries] = series;
    this.#numbers[at + ofTag] = tag;
    this.#numbers[at + ofBefore] = before;
    this.#numbers[at + ofEnd] = end;
  }

  /** The series of each of the first `pieces` pieces. */
  seriesOf(pieces: number): Uint32Array {
    const series = new Uint32Array(pieces);
    for (let piece = 0; piece < pieces; piece++) series[piece] = this.#numbers[1 + pieceFields * piece + ofSeries]!;
    return series;
  }

  tag(piece: number): number {
    return this.#numbers[1 + pieceFields * piece + ofTag]!;
  }

  /** The piece of the same series before this one, -1 when there is none. */
  before(piece: number): number {
    return this.#numbers[1 + pieceFields * piece + ofBefore]!;
  }

  /** How many points a piece has. */
  length(piece: number): number {
    return this.#end(piece) - this.#end(piece - 1);
  }

  /** Appends a piece's points with times in [fromMs, toMs) to `into`. */
  copyPiece(piece: number, tag: number, fromMs: number, toMs: number, into: Points): void {
    const { chunkPoints } = this.size;
    const begin = this.#end(piece - 1);
    const number = Math.floor(begin / chunkPoints);
    const chunk = this.#chunks[number]!;
    const end = 2 * (this.#end(piece) - number * chunkPoints);
    let to = into.length;
    for (let at = 2 * (begin - number * chunkPoints); at < end; at += 2) {
      const time = chunk[at]!;
      if (time < fromMs || time >= toMs) continue;
      into.timeMs[to] = time;
      into.value[to] = chunk[at + 1]!;
      into.tag[to] = tag;
      to++;
    }
    into.length = to;
  }

  /** Where the points of a piece end, counted through all chunks; those of the next piece begin there. 0 for -1, so that the first piece begins at 0. */
  #end(piece: number): number {
    return this.#numbers[1 + pieceFields * piece + ofEnd]!;
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
  #chunk: Float64Array | undefined;
  /** Where the chunk begins, counted through all of them. */
  #chunkBegin = 0;

  /** @param newChunk gives the memory of one. */
  constructor(
    readonly number: number,
    readonly memory: ArenaMemory,
    private readonly newChunk: () => SharedArrayBuffer,
  ) {}

  get full(): boolean {
    const { chunks, chunkPoints, pieces } = this.memory.size;
    return this.points === chunks * chunkPoints || this.pieces === pieces || this.#tagBytes > 16 * 1024 * 1024;
  }

  /** Tag sets of its points, as its memory numbers them. */
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
    const { memory } = this;
    const chunk = this.#chunkWithRoom();
    const begin = this.points - this.#chunkBegin;
    const to = Math.min(timestampMs.length, from + memory.size.chunkPoints - begin);
    for (let at = from, into = 2 * begin; at < to; at++, into += 2) {
      chunk[into] = timestampMs[at]!;
      // -0 becomes 0, which it equals
      chunk[into + 1] = value[at]! + 0;
    }
    const piece = this.pieces++;
    this.points += to - from;
    memory.put(piece, series, tags === '' ? 0 : this.#tagSet(tags), this.#move(series, piece), this.points);
    return to;
  }

  #chunkWithRoom(): Float64Array {
    if (!this.#chunk || this.points - this.#chunkBegin === this.memory.size.chunkPoints) {
      // First of all, as there may be no memory.
      this.#chunk = this.memory.add(this.newChunk());
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
