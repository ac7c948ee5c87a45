import type { PointBatch, SeriesRun, Tags } from './point.js';
import { tagsKey } from './tags.js';

export const maxPoints = 10_000;

/** The points of the body in hand, by position among its numeric points: which run, when, what. Parsing never interleaves. */
const runOf = new Uint16Array(maxPoints);
const timestampMs = new Float64Array(maxPoints);
const value = new Float64Array(maxPoints);

interface Run {
  readonly metric: string;
  readonly tags: Tags;
  readonly tagsKey: string;
  points: number;
}

interface SourceRuns {
  readonly sourceId: string;
  /** Positions of its runs in the order in which they began. */
  readonly runs: number[];
  /** The run that each metric adds to. */
  readonly open: Map<string, number>;
}

/** Room for the columns of many runs: one buffer each would weigh more than the few points that most of them have. */
let room = new Float64Array(8 * 1024);
let taken = 0;

/** Zeros of its own. */
function newColumn(length: number): Float64Array {
  if (taken + length > room.length) {
    room = new Float64Array(Math.max(room.length, length));
    taken = 0;
  }
  const start = taken;
  taken += length;
  return new Float64Array(room.buffer, 8 * start, length);
}

/** Turns the points of one body, at most 10,000 in body order, into one batch of columns for each source. One is in use at a time. */
export class PointCollector {
  readonly #sources = new Map<string, SourceRuns>();
  readonly #runs: Run[] = [];
  #count = 0;

  /**
   * The run that a point of this metric belongs to: the metric's last one, or a new one when that has other tags. So of two points of
   * one time the one that came later also stands later.
   */
  run(sourceId: string, metric: string, tags: Tags): number {
    const source = this.#source(sourceId);
    const key = tagsKey(tags);
    const open = source.open.get(metric);
    if (open !== undefined && this.#runs[open]!.tagsKey === key) return open;
    const run = this.#runs.push({ metric, tags, tagsKey: key, points: 0 }) - 1;
    source.runs.push(run);
    source.open.set(metric, run);
    return run;
  }

  /** @param run what `run` answered last for this metric. */
  add(run: number, atMs: number, what: number): void {
    runOf[this.#count] = run;
    timestampMs[this.#count] = atMs;
    value[this.#count] = what;
    this.#runs[run]!.points++;
    this.#count++;
  }

  /** Sources in the order of their first point. */
  batches(orgId: string, receivedMs: number): PointBatch[] {
    const columns = this.#columns();
    return [...this.#sources.values()].map(({ sourceId, runs }) => ({
      orgId,
      sourceId,
      receivedMs,
      series: runs.map((run) => columns[run]!),
    }));
  }

  #columns(): SeriesRun[] {
    const columns = this.#runs.map(({ metric, tags, points }) => ({
      metric,
      tags,
      timestampMs: newColumn(points),
      value: newColumn(points),
    }));
    const ends = new Uint16Array(columns.length);
    for (let at = 0; at < this.#count; at++) {
      const run = runOf[at]!;
      const column = columns[run]!;
      const end = ends[run]!++;
      column.timestampMs[end] = timestampMs[at]!;
      column.value[end] = value[at]!;
    }
    return columns;
  }

  #source(sourceId: string): SourceRuns {
    let source = this.#sources.get(sourceId);
    if (!source) this.#sources.set(sourceId, (source = { sourceId, runs: [], open: new Map() }));
    return source;
  }
}
