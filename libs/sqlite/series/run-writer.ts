import { type BlockRow, BlockWriter } from './block.js';
import { PendingPoints } from './pending-points.js';
import { type Points, writePoints } from './points.js';
import { rawKind, type Run } from './run.js';
import { SegmentWriter } from './segment-writer.js';

/** Writes the blocks of one run from its points, which come in the order of series, time and tags. */
export class RunWriter {
  points = 0;
  #firstMs = Infinity;
  #lastMs = -Infinity;
  readonly #raw: BlockWriter;
  readonly #segments: SegmentWriter;
  #series = -1;
  readonly #pending = new PendingPoints();

  constructor(
    private readonly id: number,
    metricOf: (series: number) => number,
    insert: (row: BlockRow) => void,
    segmentRows?: number,
  ) {
    this.#raw = new BlockWriter(id, rawKind, insert);
    this.#segments = new SegmentWriter(id, metricOf, insert, segmentRows);
  }

  add(series: number, points: Points, from: number, to: number): void {
    if (series !== this.#series) this.#flush();
    this.#series = series;
    this.#segments.add(series, points, from, to);
    for (let at = from; at < to;) {
      at = this.#pending.append(points, at, to);
      if (this.#pending.full) this.#flush();
    }
  }

  /** Writes what is left; what of the run can be known from its points. */
  finish(): Pick<Run, 'id' | 'points' | 'firstMs' | 'lastMs' | 'raw' | 'segments'> {
    this.#flush();
    this.#raw.flush();
    const raw = { blocks: this.#raw.blocks, last: this.#raw.last };
    const segments = this.#segments.finish();
    return { id: this.id, points: this.points, firstMs: this.#firstMs, lastMs: this.#lastMs, raw, segments };
  }

  #flush(): void {
    if (this.#pending.length === 0) return;
    const pending = this.#pending.take();
    this.points += pending.length;
    this.#firstMs = Math.min(this.#firstMs, pending.timeMs[0]!);
    this.#lastMs = Math.max(this.#lastMs, pending.timeMs[pending.length - 1]!);
    writePoints(this.#raw, this.#series, pending, 0, pending.length);
    this.#pending.clear();
  }
}
