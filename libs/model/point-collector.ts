import { ColumnRoom } from './column-room.js';
import type { PointBatch, SeriesRun, Tags } from './point.js';

export const maxPoints = 10_000;

interface OpenRun {
  readonly metric: string;
  readonly tags: Tags;
  points: number;
}

interface SourceRuns {
  readonly sourceId: string;
  /** Its place among the sources. */
  readonly number: number;
  /** Its runs, by their position among all runs, in the order in which they began. */
  readonly runs: number[];
}

/** What is used again for each body: the memory in which its points are gathered, and from which their columns are cut. */
export class PointMemory {
  /** The points of one body, by their position among its numeric points: run, time and value. */
  readonly runOf = new Uint16Array(maxPoints);
  readonly timestampMs = new Float64Array(maxPoints);
  readonly value = new Float64Array(maxPoints);
  readonly room = new ColumnRoom();
}

/** Turns the points of one body, at most 10,000 in body order, into one batch of columns for each source. One collector of a memory is in use at a time. */
export class PointCollector {
  readonly #runOf: Uint16Array;
  readonly #timestampMs: Float64Array;
  readonly #value: Float64Array;
  readonly #sources = new Map<string, SourceRuns>();
  readonly #runs: OpenRun[] = [];
  /** Numbers of different metrics. */
  readonly #metrics = new Map<string, number>();
  /** Runs by the numbers of their source, metric and tags: one key of text for each would have to be made and hashed for every point. */
  readonly #byNumbers = new Map<number, number>();
  /** Numbers of different tags. */
  readonly #tagSets = new Map<Tags, number>();
  #count = 0;

  constructor(private readonly memory: PointMemory) {
    this.#runOf = memory.runOf;
    this.#timestampMs = memory.timestampMs;
    this.#value = memory.value;
  }

  /** The run that points of this metric with these tags belong to. */
  run(sourceId: string, metric: string, tags: Tags): number {
    let source = this.#sources.get(sourceId);
    if (!source) this.#sources.set(sourceId, (source = { sourceId, number: this.#sources.size, runs: [] }));
    // The numbers of sources and of metrics are less than `maxPoints`, so that no two runs have the same sum.
    const numbers = (numberIn(this.#tagSets, tags) * maxPoints + source.number) * maxPoints + numberIn(this.#metrics, metric);
    const known = this.#byNumbers.get(numbers);
    if (known !== undefined) return known;
    const run = this.#runs.push({ metric, tags, points: 0 }) - 1;
    source.runs.push(run);
    this.#byNumbers.set(numbers, run);
    return run;
  }

  /** @param run what `run` answered. */
  add(run: number, atMs: number, what: number): void {
    this.#runOf[this.#count] = run;
    this.#timestampMs[this.#count] = atMs;
    this.#value[this.#count] = what;
    this.#runs[run]!.points++;
    this.#count++;
  }

  /** Sources in the order of their first point. */
  batches(orgId: string, receivedMs: number): PointBatch[] {
    const columns = this.#columns();
    const batches: PointBatch[] = [];
    for (const { sourceId, runs } of this.#sources.values()) {
      batches.push({ orgId, sourceId, receivedMs, series: runs.map((run) => columns[run]!) });
    }
    return batches;
  }

  #columns(): SeriesRun[] {
    const columns = this.#runs.map(({ metric, tags, points }) => ({
      metric,
      tags,
      timestampMs: this.memory.room.column(points),
      value: this.memory.room.column(points),
    }));
    const [runOf, timestampMs, value] = [this.#runOf, this.#timestampMs, this.#value];
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
}

/** The number of this text, the next one up where it is new. */
function numberIn(numbers: Map<string, number>, text: string): number {
  let number = numbers.get(text);
  if (number === undefined) numbers.set(text, (number = numbers.size));
  return number;
}
