import { BlockCursor } from './block-cursor.js';
import { ByteReader } from './bytes.js';
import type { PointStream } from './point-stream.js';
import { entryPoints, Points, readPoints } from './points.js';
import { type BlockSearch, rawKind, type Run } from './run.js';

const bytes = new ByteReader();

/** All points of a run in its order: a stream of each series in turn. */
export class RunScan implements PointStream {
  at = 0;
  end = 0;
  readonly points = new Points(entryPoints);
  readonly #cursor: BlockCursor;
  #left: boolean;
  #series = 0;

  constructor(search: BlockSearch, run: Run) {
    this.#cursor = new BlockCursor(search, run.id, rawKind, run.raw);
    this.#left = this.#cursor.first();
  }

  /** The series whose points come next; `Infinity` when all were read. */
  get series(): number {
    return this.#left ? this.#cursor.entry.key : Infinity;
  }

  /** The points of the series that comes next; read them to their end before the next call. */
  open(): PointStream {
    this.#series = this.series;
    return this;
  }

  next(): boolean {
    if (this.series !== this.#series) return false;
    readPoints(this.#cursor.entry, bytes, this.points);
    this.at = 0;
    this.end = this.points.length;
    this.#left = this.#cursor.next();
    return true;
  }
}
