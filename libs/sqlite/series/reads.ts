import {
  averageOf,
  bucketStartMs,
  bucketWindow,
  downscale,
  FirstRows,
  intervalMs,
  type RollupInterval,
  RollupRows,
  type SelectedRows,
  type Window,
} from '#model';
import type { LentArena } from './arena.js';
import { type ArchiveLevel, archiveLevelOf, ArchiveReader } from './archive.js';
import { ArenaReader, ArenaScratch, type OpenArena } from './arena-reader.js';
import type { KeptArchives } from './kept.js';
import { mergeRows, type Stale } from './merge-rows.js';
import { lowerBound } from './points.js';
import { MergedPoints, type PointStream } from './point-stream.js';
import { type BlockSearch, type Level, levelOf } from './run.js';
import type { RunReader } from './run-reader.js';
import { TagSets } from './tag-sets.js';

/** A question to the reader thread. Rows of one time are answered in the order of the series here. */
export interface ReadRequest {
  readonly series: Uint32Array;
  /** The metric of each. */
  readonly metrics: Uint32Array;
  /** Arenas that may not be in a run yet, oldest first. */
  readonly arenas: readonly LentArena[];
  readonly window: Window;
  readonly limit: number;
  /** Undefined means raw points. */
  readonly interval: RollupInterval | undefined;
  /** Whether raw points come with their tags. */
  readonly withTags?: boolean;
  /** True when all are of one metric. */
  readonly fleet: boolean;
  /** When to give up, Unix milliseconds. */
  readonly deadlineMs: number;
}

/** How many rows of a level are read of a series at once: whole days of minutes and of hours. */
const sliceRows = 8640;
export const sliceMs = (interval: RollupInterval): number => sliceRows * intervalMs[levelOf[interval]];

/** Memory that every read of this thread uses again, for rows: of each run and arena, of all together, of a coarser interval, folded again; and for answers. */
const arenaScratch: ArenaScratch[] = [];
const rowsScratch: RollupRows[] = [];
const finest = new RollupRows();
const coarse = new RollupRows();
const again = new RollupRows();
const firstPoints = new FirstRows(2);
const firstTagged = new FirstRows(3);
let tagScratch = new Float64Array(0);
const firstBuckets = new FirstRows(5);

/** Reads the runs and arenas of one moment as one. */
export class Reads {
  readonly #arenas: readonly ArenaReader[];
  /** Rows of each run and arena. */
  readonly #gathered: readonly RollupRows[];
  /** Points before are gone: buckets before it, which is an edge of days, are archived. */
  readonly #pointsMs: number;
  readonly #archives: readonly ArchiveReader[];

  /** @param runs oldest first. */
  constructor(
    private readonly runs: readonly RunReader[],
    arenas: readonly OpenArena[],
    private readonly request: ReadRequest,
    private readonly past: KeptArchives,
    search: BlockSearch,
  ) {
    this.#pointsMs = past.kept.reached.raw;
    this.#archives = past.archives.map((archive) => new ArchiveReader(search, archive));
    const inRuns = runs.at(-1)?.run.lastArena ?? 0;
    const others = arenas.filter(({ number }) => number > inRuns);
    this.#arenas = others.map((arena, at) => new ArenaReader(arena, (arenaScratch[at] ??= new ArenaScratch())));
    this.#gathered = [...runs, ...this.#arenas].map((_, at) => (rowsScratch[at] ??= new RollupRows()));
  }

  /** Rows of (time, value), and of the place of their tags in `tagSets` where the request is with tags. */
  raw(): SelectedRows & { readonly tagSets: readonly string[] } {
    const { series, window, limit, withTags } = this.request;
    const first = (withTags ? firstTagged : firstPoints).begin(limit, series.length);
    const found = new TagSets();
    for (const position of inRunOrder(series)) {
      let taken = 0;
      const stream = this.#points(position, window.startMs, Math.min(window.endMs, first.lastMs + 1));
      while (taken <= limit && stream.next()) {
        const { timeMs, value } = stream.points;
        const end = Math.min(stream.end, stream.at + limit + 1 - taken);
        first.add(position, withTags ? [timeMs, value, tagNumbers(stream, end, found)] : [timeMs, value], stream.at, end);
        taken += end - stream.at;
      }
    }
    const rows = first.finish();
    return { ...rows, tagSets: onlyUsed(found, rows.columns[2]) };
  }

  /** Rows of (start of the bucket, min, max, avg, count), and which series have a bucket in the window. */
  buckets(interval: RollupInterval): SelectedRows & { present: Uint8Array } {
    const { series, limit, window } = this.request;
    const sizeMs = intervalMs[interval];
    const { startMs } = bucketWindow(window, interval);
    const endMs = startMs + sizeMs * Math.ceil((window.endMs - startMs) / sizeMs);
    const first = firstBuckets.begin(limit, series.length);
    const present = new Uint8Array(series.length);
    for (const position of inRunOrder(series)) {
      let fromMs = startMs;
      for (let taken = 0; taken <= limit && fromMs < endMs && fromMs <= first.lastMs;) {
        const toMs = this.endOfSlice(interval, fromMs, Math.min(endMs, first.lastMs + sizeMs));
        const rows = this.rows(position, interval, fromMs, toMs);
        if (rows.length > 0) present[position] = 1;
        const some = Math.min(rows.length, limit + 1 - taken);
        first.add(position, [rows.startMs, rows.min, rows.max, this.#averages(position, interval, rows, some), rows.count], 0, some);
        taken += some;
        fromMs = rows.length > 0 ? toMs : this.nextBucket(position, interval, toMs, endMs);
      }
      if (present[position] === 0) present[position] = Number(this.nextBucket(position, interval, fromMs, endMs) < endMs);
    }
    return { ...first.finish(), present };
  }

  /** The value of each series' newest point in the window, NaN where there is none. */
  latest(): Float64Array {
    const { series, window } = this.request;
    const newest = new Float64Array(series.length).fill(Number.NaN);
    for (const position of inRunOrder(series)) {
      const stream = this.#points(position, window.startMs, window.endMs);
      while (stream.next()) newest[position] = stream.points.value[stream.end - 1]!;
    }
    return newest;
  }

  #streams(position: number, asked: number, toMs: number): PointStream[] {
    const series = this.request.series[position]!;
    const fromMs = Math.max(asked, this.#pointsMs);
    return [
      ...this.runs.map((run) => run.points(series, fromMs, toMs)),
      ...this.#arenas.map((arena) => arena.points(position, fromMs, toMs)),
    ];
  }

  #points(position: number, fromMs: number, toMs: number): PointStream {
    return new MergedPoints(this.#streams(position, fromMs, toMs));
  }

  /** Where the rows that are read at once end, which begin at `fromMs`. They are all archived or all not. */
  endOfSlice(interval: RollupInterval, fromMs: number, endMs: number): number {
    const toMs = Math.min(endMs, fromMs + sliceMs(interval));
    return fromMs < this.#pointsMs ? Math.min(toMs, this.#pointsMs) : toMs;
  }

  /** The first bucket at or after `fromMs` that is not empty; `endMs` when there is none before that. */
  nextBucket(position: number, interval: RollupInterval, fromMs: number, endMs: number): number {
    const sizeMs = intervalMs[interval];
    if (fromMs < this.#pointsMs) {
      const toMs = Math.min(endMs, this.#pointsMs);
      const archivedMs = this.#nextArchived(position, archiveLevelOf[interval], fromMs, toMs);
      if (archivedMs < toMs) return bucketStartMs(archivedMs, sizeMs);
    }
    let nextMs = endMs;
    for (const stream of this.#streams(position, fromMs, endMs)) {
      if (stream.next()) nextMs = Math.min(nextMs, bucketStartMs(stream.points.timeMs[stream.at]!, sizeMs));
    }
    return nextMs;
  }

  /** The rows of the buckets of a series in [fromMs, toMs), a slice or a part of one. The next call reuses their memory. */
  rows(position: number, interval: RollupInterval, fromMs: number, toMs: number): RollupRows {
    finest.clear();
    if (fromMs < this.#pointsMs) return this.#archived(position, interval, fromMs, toMs, finest);
    const level = levelOf[interval];
    const levelMs = intervalMs[level];
    for (const stale of mergeRows(this.#gather(position, level, fromMs, toMs), levelMs, finest)) this.#foldAgain(position, levelMs, stale);
    if (interval === level) return finest;
    coarse.clear();
    coarse.foldRows(intervalMs[interval], finest);
    return coarse;
  }

  /** The sum of a bucket's values times `downscale`, for a sum that leaves the range of doubles. */
  scaledSum(position: number, interval: RollupInterval, startMs: number): number {
    const sizeMs = intervalMs[interval];
    again.clear();
    if (startMs < this.#pointsMs) return this.#archived(position, interval, startMs, startMs + sizeMs, again, downscale).sum[0]!;
    const stream = this.#points(position, startMs, startMs + sizeMs);
    while (stream.next()) again.fold(sizeMs, stream.points.timeMs, stream.points.value, stream.at, stream.end, downscale);
    return again.sum[0]!;
  }

  #archived(position: number, interval: RollupInterval, fromMs: number, toMs: number, into: RollupRows, scale = 1): RollupRows {
    const { series, metrics } = this.request;
    for (const archive of this.#archivesIn(archiveLevelOf[interval], fromMs, toMs)) {
      archive.rows(metrics[position]!, series[position]!, interval, this.#keptFrom(interval, fromMs), toMs, into, scale);
    }
    return into;
  }

  #nextArchived(position: number, level: ArchiveLevel, fromMs: number, toMs: number): number {
    const { series, metrics } = this.request;
    for (const archive of this.#archivesIn(level, fromMs, toMs)) {
      const nextMs = archive.next(metrics[position]!, series[position]!, this.#keptFrom(level, fromMs), toMs);
      if (nextMs < toMs) return nextMs;
    }
    return toMs;
  }

  #keptFrom(interval: RollupInterval, fromMs: number): number {
    return Math.max(fromMs, this.past.kept.reached[archiveLevelOf[interval]]);
  }

  #archivesIn(level: ArchiveLevel, fromMs: number, toMs: number): readonly ArchiveReader[] {
    return this.#archives.filter(({ archive }) => archive.level === level && archive.toMs > fromMs && archive.fromMs < toMs);
  }

  /** The rows that each run and arena has by itself, oldest first. The next call reuses their memory. */
  #gather(position: number, level: Level, fromMs: number, toMs: number): readonly RollupRows[] {
    const series = this.request.series[position]!;
    const metric = this.request.metrics[position]!;
    for (let at = 0; at < this.#gathered.length; at++) {
      const rows = this.#gathered[at]!;
      rows.clear();
      if (at < this.runs.length) this.runs[at]!.rows(metric, series, level, fromMs, toMs, this.request.fleet, rows);
      else this.#arenas[at - this.runs.length]!.rows(position, intervalMs[level], fromMs, toMs, rows);
    }
    return this.#gathered;
  }

  /** Folds stale buckets from the raw points into their rows in `finest`. */
  #foldAgain(position: number, sizeMs: number, { fromMs, toMs }: Stale): void {
    again.clear();
    const stream = this.#points(position, fromMs, toMs);
    while (stream.next()) again.fold(sizeMs, stream.points.timeMs, stream.points.value, stream.at, stream.end);
    finest.replace(lowerBound(finest.startMs, fromMs, 0, finest.length), again);
  }

  /** The averages of the first `count` rows, in place of their sums. Where a sum left the range of doubles, the average is made from the points. */
  #averages(position: number, interval: RollupInterval, rows: RollupRows, count: number): Float64Array {
    const { startMs, min, max, sum, count: counts } = rows;
    for (let row = 0; row < count; row++) {
      if (Number.isFinite(sum[row])) sum[row]! /= counts[row]!;
      else sum[row] = averageOf(this.scaledSum(position, interval, startMs[row]!), { min: min[row]!, max: max[row]!, count: counts[row]! });
    }
    return sum;
  }
}

/** The numbers of the tags of the rows up to `end`, at the places of the rows. The next call reuses their memory. */
function tagNumbers({ points, at }: PointStream, end: number, tagSets: TagSets): Float64Array {
  if (tagScratch.length < end) tagScratch = new Float64Array(2 * end);
  for (let row = at; row < end; row++) tagScratch[row] = tagSets.number(points.tagSets[points.tag[row]!]!);
  return tagScratch;
}

/** The tag sets that rows have; their numbers are made anew. */
function onlyUsed({ texts }: TagSets, numbers: Float64Array = new Float64Array(0)): readonly string[] {
  const used = new TagSets();
  for (let row = 0; row < numbers.length; row++) numbers[row] = used.number(texts[numbers[row]!]!);
  return used.texts;
}

/** Positions of series in the order of their numbers, which is their order in the runs. */
function inRunOrder(series: Uint32Array): Uint32Array {
  return Uint32Array.from(series.keys()).sort((a, b) => series[a]! - series[b]!);
}
