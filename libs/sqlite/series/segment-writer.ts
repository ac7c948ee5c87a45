import { bucketStartMs, intervalMs, RollupRows } from '#model';
import { type BlockRow, BlockWriter, type RunPlace } from './block.js';
import { type Extent, type Level, rowsKey, rowsKind, type Segment } from './run.js';
import { lowerBound, type Points } from './points.js';
import { writeRows } from './rows.js';
import { positionsBySmallValue } from './sorted-positions.js';

/** Rows held before they are sorted and written. */
const segmentRows = 64 * 1024;
/** Points to a minute's row from which on rows are written: with fewer, the rows would take more room than the points. */
const pointsPerMinute = 4;
/** Minute rows, or points, to an hour's row from which on hour rows are written: fewer are read quickly enough. */
const rowsPerHour = 8;

/** Memory of writers that have ended. */
const spare: RollupRows[] = [];

const hourMs = intervalMs['1h'];
const hourOf = (timeMs: number): number => bucketStartMs(timeMs, hourMs);

/** Folds the points of a run, which come in the order of series and time, and writes their rollup rows in segments. */
export class SegmentWriter {
  readonly segments: Segment[] = [];
  readonly #minutes = spare.pop() ?? new RollupRows();
  readonly #hours = spare.pop() ?? new RollupRows();
  /** Series of this segment and where their rows begin. */
  #series: number[] = [];
  #begins: number[] = [];
  #points = 0;

  constructor(
    private readonly run: number,
    private readonly metricOf: (series: number) => number,
    private readonly insert: (row: BlockRow) => void,
    private readonly maxRows = segmentRows,
  ) {}

  add(series: number, points: Points, from: number, to: number): void {
    const rows = this.#minutes;
    let begin = from;
    if (series === this.#series.at(-1)) {
      if (rows.length >= this.maxRows) {
        begin = lowerBound(points.timeMs, hourOf(rows.startMs[rows.length - 1]!) + hourMs, from, to);
        this.#fold(points, from, begin);
        if (begin === to) return;
        this.#spill();
      }
    } else if (rows.length >= this.maxRows) this.#spill();
    if (series !== this.#series.at(-1)) {
      this.#series.push(series);
      this.#begins.push(rows.length);
      rows.begin();
    }
    this.#fold(points, begin, to);
  }

  finish(): readonly Segment[] {
    this.#spill();
    this.#hours.clear();
    spare.push(this.#minutes, this.#hours);
    return this.segments;
  }

  #fold({ timeMs, value }: Points, from: number, to: number): void {
    this.#minutes.fold(intervalMs['1m'], timeMs, value, from, to);
    this.#points += to - from;
  }

  #spill(): void {
    if (this.#series.length === 0) return;
    const written: Partial<Record<Level, Extent>> = {};
    const minutes = this.#minutes;
    const hours = this.#foldHours();
    if (this.#points >= pointsPerMinute * minutes.length) written['1m'] = this.#write('1m', minutes, this.#begins);
    const finer = written['1m'] ? minutes.length : this.#points;
    if (finer >= rowsPerHour * hours.rows.length) written['1h'] = this.#write('1h', hours.rows, hours.begins);
    this.#note(written);
    this.#minutes.clear();
    this.#series = [];
    this.#begins = [];
    this.#points = 0;
  }

  #write(level: Level, rows: RollupRows, begins: readonly number[]): Extent {
    const order = positionsBySmallValue(Uint32Array.from(this.#series, this.metricOf));
    const blocks = new BlockWriter(this.run, rowsKind(this.segments.length, level), this.insert);
    for (const at of order) {
      const series = this.#series[at]!;
      writeRows(blocks, rowsKey(this.metricOf(series), series), rows, begins[at]!, begins[at + 1] ?? rows.length);
    }
    blocks.flush();
    return { blocks: blocks.blocks, last: blocks.last };
  }

  #foldHours(): { rows: RollupRows; begins: number[] } {
    const rows = this.#hours;
    rows.clear();
    const begins = this.#begins.map((begin, at) => {
      const first = rows.length;
      rows.begin();
      rows.foldRows(hourMs, this.#minutes, begin, this.#begins[at + 1]);
      return first;
    });
    return { rows, begins };
  }

  #note(rows: Readonly<Partial<Record<Level, Extent>>>): void {
    const minutes = this.#minutes;
    const from: RunPlace = { key: this.#series[0]!, timeMs: minutes.startMs[0]! };
    const to: RunPlace = { key: this.#series.at(-1)!, timeMs: minutes.startMs[minutes.length - 1]! };
    this.segments.push({ from, to, rows });
  }
}
