import { ColumnRoom } from './column-room.js';
import type { Name } from './name-table.js';
import { maxPoints, type PointBatch, type SeriesRun, type Tags } from './point.js';
import { PointLayout } from './point-layout.js';
import { RunIndex, type RunOfSource } from './run-index.js';

/** So many runs of a body are remembered for the next one. */
const maxKeptRuns = 256;

/** What is used again for each body: the memory in which its points are gathered, and from which their columns are cut. */
export class PointMemory {
  /** How many points are in the columns. */
  count = 0;
  /** The points of one body, by their position among its numeric points: run, time and value. */
  readonly runOf = new Uint16Array(maxPoints);
  readonly timestampMs = new Float64Array(maxPoints);
  readonly value = new Float64Array(maxPoints);
  /** The times once more, run by run. */
  readonly times = new Float64Array(maxPoints);
  /** Of each run: how many points it has, and where the next of them belongs. */
  readonly pointsOf = new Uint16Array(maxPoints);
  readonly next = new Uint16Array(maxPoints);
  /** The runs of the body before, no two the same. Where a run of this body differs from the one at its place, this body's runs replace the rest. */
  readonly runs: RunOfSource[] = [];
  readonly layout = new PointLayout();
  readonly room = new ColumnRoom();

  /** Ends a body. */
  end(): void {
    if (this.runs.length > maxKeptRuns) this.runs.length = maxKeptRuns;
  }
}

/** Turns the points of one body, at most 10,000 in body order, into one batch of columns for each source. One collector of a memory is in use at a time. */
export class PointCollector {
  /** By their number, in the order in which they came. */
  readonly #sources: string[] = [];
  #numbers: Map<string, number> | undefined;
  /** Runs so far. */
  #runs = 0;
  /** How many times a name did not know its run. */
  searches = 0;
  /** Undefined while each run has been the one that stood there in the body before. */
  #index: RunIndex | undefined;

  /** @param scan the number of the scan that reads the body by the name table, which no other scan has. */
  constructor(
    private readonly memory: PointMemory,
    private readonly scan = 0,
  ) {
    memory.count = 0;
  }

  /** As `run`. The name of a metric remembers its last run, so that most points find theirs without a search. @param tagNumber stands for these tags in this body. */
  runOf(metric: Name, sourceId: string, tagNumber: number, tags: Tags): number {
    const isKnown = metric.scan === this.scan && metric.tags === tagNumber && metric.sourceId === sourceId;
    return isKnown ? metric.run : this.#search(metric, sourceId, tagNumber, tags);
  }

  /** The run that points of this metric with these tags belong to. */
  run(sourceId: string, metric: string, tags: Tags): number {
    const source = this.#source(sourceId);
    const { runs } = this.memory;
    if (!this.#index) {
      const before = runs[this.#runs];
      // The runs before it are those of the body before too, and so it is none of them.
      if (before?.metric === metric && before.tags === tags && before.source === source) return this.#begin();
      runs.length = this.#runs;
      this.#index = new RunIndex(runs);
    }
    const run = { source, metric, tags };
    const known = this.#index.add(run);
    if (known < this.#runs) return known;
    runs.push(run);
    return this.#begin();
  }

  /** @param run what `run` answered. */
  add(run: number, atMs: number, what: number): void {
    const { memory } = this;
    memory.runOf[memory.count] = run;
    memory.timestampMs[memory.count] = atMs;
    memory.value[memory.count] = what;
    memory.pointsOf[run]!++;
    memory.count++;
  }

  /** Sources in the order of their first point. Runs with the same times may share their column. */
  batches(orgId: string, receivedMs: number): PointBatch[] {
    const { runs, next, times, room } = this.memory;
    const values = this.#values();
    // Read once: the getter `buffer` costs more than a new view.
    const { buffer, byteOffset } = values;
    const batches = this.#sources.map((sourceId) => ({ orgId, sourceId, receivedMs, series: [] as SeriesRun[] }));
    let shared: Float64Array = noTimes;
    for (let run = 0, from = 0; run < this.#runs; run++) {
      const to = next[run]!;
      if (!isEqual(shared, times, from, to)) {
        shared = room.column(to - from);
        for (let at = from; at < to; at++) shared[at - from] = times[at]!;
      }
      const { source, metric, tags } = runs[run]!;
      // As `subarray`, which takes twice as long.
      const value = new Float64Array(buffer, byteOffset + 8 * from, to - from);
      batches[source]!.series.push({ metric, tags, timestampMs: shared, value });
      from = to;
    }
    return batches;
  }

  #search(metric: Name, sourceId: string, tagNumber: number, tags: Tags): number {
    this.searches++;
    metric.run = this.run(sourceId, metric.text, tags);
    metric.scan = this.scan;
    metric.tags = tagNumber;
    metric.sourceId = sourceId;
    return metric.run;
  }

  #begin(): number {
    this.memory.pointsOf[this.#runs] = 0;
    return this.#runs++;
  }

  #source(sourceId: string): number {
    const { length } = this.#sources;
    if (length > 0 && this.#sources[length - 1] === sourceId) return length - 1;
    if (length > 0) {
      this.#numbers ??= new Map([[this.#sources[0]!, 0]]);
      const known = this.#numbers.get(sourceId);
      if (known !== undefined) return known;
      this.#numbers.set(sourceId, length);
    }
    this.#sources.push(sourceId);
    return length;
  }

  /** The values run by run, as `times` of the memory then has the times; `next` has where each run ends. */
  #values(): Float64Array {
    const { count, runOf, pointsOf, next, timestampMs, value, times, room } = this.memory;
    for (let run = 0, end = 0; run < this.#runs; run++) {
      next[run] = end;
      end += pointsOf[run]!;
    }
    const values = room.column(count);
    for (let at = 0; at < count; at++) {
      const to = next[runOf[at]!]!++;
      times[to] = timestampMs[at]!;
      values[to] = value[at]!;
    }
    return values;
  }
}

const noTimes = new Float64Array(0);

/** Whether a column has just what is in [from, to) of another. */
function isEqual(column: Float64Array, other: Float64Array, from: number, to: number): boolean {
  if (column.length !== to - from) return false;
  for (let at = from; at < to; at++) if (column[at - from] !== other[at]) return false;
  return true;
}
