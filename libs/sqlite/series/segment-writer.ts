import { bucketStartMs, intervalMs } from '#model';
import { type BlockRow, BlockWriter, type RunPlace } from './block.js';
import { type Extent, type Level, rowsKey, rowsKind, type Segment } from './run.js';
import { lowerBound, type Points } from './points.js';
import { writeRows } from './rows.js';
import { positionsBySmallValue } from './sorted-positions.js';
import { Stretch } from './stretch.js';

/** Rows held before they are sorted and written. */
const segmentRows = 64 * 1024;
/** A segment ends early where other levels become worth their room; that is decided for a part of it at a time. */
const stretchesOfSegment = 64;

/** Memory of writers that have ended. */
const spare: Stretch[] = [];

const hourMs = intervalMs['1h'];

/** Folds the points of a run, which come in the order of series and time, and writes their rollup rows in segments. */
export class SegmentWriter {
  readonly segments: Segment[] = [];
  /** The rows that are being folded. */
  readonly #stretch = spare.pop() ?? new Stretch();
  /** The rows before them, of the segment that is to be written next. */
  readonly #held = spare.pop() ?? new Stretch();
  #levels: readonly Level[] | undefined;
  readonly #stretchRows: number;

  constructor(
    private readonly run: number,
    private readonly metricOf: (series: number) => number,
    private readonly insert: (row: BlockRow) => void,
    private readonly maxRows = segmentRows,
  ) {
    this.#stretchRows = Math.ceil(maxRows / stretchesOfSegment);
  }

  add(series: number, points: Points, from: number, to: number): void {
    for (let at = from; at < to;) {
      const end = this.#isFull ? this.#endOfHour(series, points, at, to) : Math.min(to, at + this.#stretchRows);
      if (end === at) this.#spill();
      else this.#stretch.add(series, points, at, end);
      at = end;
    }
  }

  finish(): readonly Segment[] {
    this.#spill();
    this.#write();
    // In this order, so that the next writer holds rows where there is room for many.
    spare.push(this.#held, this.#stretch);
    return this.segments;
  }

  get #isFull(): boolean {
    return this.#stretch.rows['1m'].length >= this.#stretchRows;
  }

  /** Where the points of the hour end that was begun. */
  #endOfHour(series: number, { timeMs }: Points, from: number, to: number): number {
    if (series !== this.#stretch.series.last) return from;
    const minutes = this.#stretch.rows['1m'];
    return lowerBound(timeMs, bucketStartMs(minutes.startMs[minutes.length - 1]!, hourMs) + hourMs, from, to);
  }

  #spill(): void {
    const stretch = this.#stretch;
    stretch.foldHours();
    const levels = stretch.worth(this.#levels);
    const tooMany = this.#held.rows['1m'].length + stretch.rows['1m'].length > this.maxRows;
    if (tooMany || String(levels) !== String(this.#levels)) {
      this.#write();
      this.#levels = stretch.worth();
    }
    this.#held.append(stretch);
    stretch.clear();
  }

  /** Writes what is held as a segment. */
  #write(): void {
    const { series, rows } = this.#held;
    if (series.length === 0) return;
    const minutes = rows['1m'];
    const from: RunPlace = { key: series.at(0)!, timeMs: minutes.startMs[0]! };
    const to: RunPlace = { key: series.last!, timeMs: minutes.startMs[minutes.length - 1]! };
    const metrics = series.all.map(this.metricOf);
    const order = positionsBySmallValue(metrics);
    const extents = Object.fromEntries(this.#levels!.map((level) => [level, this.#writeLevel(level, metrics, order)]));
    this.segments.push({ from, to, rows: extents });
    this.#held.clear();
  }

  /** @param metrics of the series that are held. @param order in which the series are written: their positions. */
  #writeLevel(level: Level, metrics: Uint32Array, order: Uint32Array): Extent {
    const blocks = new BlockWriter(this.run, rowsKind(this.segments.length, level), this.insert);
    for (let place = 0; place < order.length; place++) this.#writeSeries(blocks, level, order[place]!, metrics);
    blocks.flush();
    return { blocks: blocks.blocks, last: blocks.last };
  }

  #writeSeries(blocks: BlockWriter, level: Level, at: number, metrics: Uint32Array): void {
    const { series, rows } = this.#held;
    const [from, to] = this.#held.span(level, at);
    writeRows(blocks, rowsKey(metrics[at]!, series.at(at)!), rows[level], from, to);
  }
}
