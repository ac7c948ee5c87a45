import type { DatabaseSync } from 'node:sqlite';
import { transaction, unsynced } from '../transaction.js';
import { BlockCursor } from './block-cursor.js';
import { MergedPoints, type PointStream } from './point-stream.js';
import type { Kept } from './kept.js';
import { entryPoints, lowerBound, Points, readPoints } from './points.js';
import { blockInsert, type BlockSearch, blockSearch, insertRun, rawKind, removeRun, type Run } from './run.js';
import { RunWriter } from './run-writer.js';

/** How many neighbouring runs of a level become one. */
const fanIn = 8;
/** Points that a merged run may always have. */
const maxPoints = 2 ** 28;
/**
 * A merged run may also have this share of all points. A merge takes the size of its runs on disk once more, and so much of the file stays free
 * anyway: see `shrink`. Runs become more with the logarithm of the points then.
 */
const maxShare = 1 / 8;

/** Free space that stays in the file for coming writes, besides `maxShare` of the file. */
const spareBytes = 1024 * 1024;

/** The oldest neighbours that should become one run; undefined when there are none. */
export function mergeable(runs: readonly Run[]): readonly Run[] | undefined {
  const most = Math.max(maxPoints, maxShare * pointsOf(runs));
  for (let at = 0; at + fanIn <= runs.length; at++) {
    const some = runs.slice(at, at + fanIn);
    const alike = some.every(({ level }) => level === some[0]!.level);
    if (alike && pointsOf(some) <= most) return some;
  }
  return undefined;
}

/** A run with its place and without its points, all of which are gone. */
export const emptied = (run: Run, id: number): Run => ({
  ...run,
  id,
  points: 0,
  firstMs: 0,
  lastMs: -1,
  raw: { blocks: 0, last: { key: -1, timeMs: 0 } },
  segments: [],
});

/** A run of which more than half is gone, by its times; what is written of it anew begins with what is kept. */
export function halfGone(runs: readonly Run[], { reached, asOfMs }: Kept): readonly Run[] | undefined {
  const run = runs.find(
    ({ firstMs, lastMs }) =>
      2 * (reached.raw - firstMs) > Math.min(lastMs, asOfMs) - firstMs && firstMs < reached.raw && lastMs >= reached.raw,
  );
  return run && [run];
}

const pointsOf = (runs: readonly Run[]): number => runs.reduce((sum, { points }) => sum + points, 0);

/** Makes one run of several, a slice at a time; readers see it whole or not at all. */
export class Merge {
  readonly #scans: readonly RunScan[];
  readonly #writer: RunWriter;
  #series = 0;
  #stream: PointStream | undefined;

  constructor(
    private readonly db: DatabaseSync,
    readonly runs: readonly Run[],
    readonly id: number,
    private readonly metricOf: (series: number) => number,
    /** From when on points of a series are kept: those before are left out. */
    fromOf: (series: number) => number,
  ) {
    const search = blockSearch(db);
    this.#scans = runs.map((run) => new RunScan(search, run, fromOf));
    this.#writer = new RunWriter(id, metricOf, blockInsert(db));
  }

  /** Merges for about that long. Returns the new run once it is complete and has replaced the others. */
  step(sliceMs: number): Run | undefined {
    const copied = unsynced(this.db, () => this.#copy(performance.now() + sliceMs));
    return copied ? transaction(this.db, () => this.#finish()) : undefined;
  }

  /** True when all points were copied. */
  #copy(untilMs: number): boolean {
    for (let pieces = 1; pieces % 64 !== 0 || performance.now() < untilMs; pieces++) {
      this.#stream ??= this.#nextSeries();
      if (!this.#stream) return true;
      if (!this.#stream.next()) this.#stream = undefined;
      // Points of a series that has ended are left out.
      else if (this.metricOf(this.#series) > 0) this.#writer.add(this.#series, this.#stream.points, this.#stream.at, this.#stream.end);
    }
    return false;
  }

  #nextSeries(): PointStream | undefined {
    this.#series = Infinity;
    for (const { series } of this.#scans) if (series < this.#series) this.#series = series;
    if (this.#series === Infinity) return undefined;
    const streams: PointStream[] = [];
    for (const scan of this.#scans) if (scan.series === this.#series) streams.push(scan.open());
    return new MergedPoints(streams);
  }

  #finish(): Run {
    const [oldest, newest] = [this.runs[0]!, this.runs.at(-1)!];
    const { level, firstArena } = oldest;
    const { lastArena, offsets } = newest;
    const run: Run = { ...this.#writer.finish(), level: this.runs.length > 1 ? level + 1 : level, firstArena, lastArena, offsets };
    insertRun(this.db, run);
    for (const { id } of this.runs) removeRun(this.db, id);
    return run;
  }
}

/** All points of a run that are kept, in its order: a stream of each series in turn. */
class RunScan implements PointStream {
  at = 0;
  end = 0;
  readonly points = new Points(entryPoints);
  readonly #cursor: BlockCursor;
  #left: boolean;
  #series = 0;
  #fromMs = 0;

  constructor(
    search: BlockSearch,
    run: Run,
    private readonly fromOf: (series: number) => number,
  ) {
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
    this.#fromMs = this.fromOf(this.#series);
    return this;
  }

  next(): boolean {
    while (this.series === this.#series && this.#cursor.entry.lastMs < this.#fromMs) this.#left = this.#cursor.next();
    if (this.series !== this.#series) return false;
    readPoints(this.#cursor.entry, this.points);
    this.at = lowerBound(this.points.timeMs, this.#fromMs, 0, this.points.length);
    this.end = this.points.length;
    this.#left = this.#cursor.next();
    return true;
  }
}

/** Removes at most `max` blocks of a run or an archive that is no longer read; true when it may have more. */
export function sweep(db: DatabaseSync, run: number, max: number): boolean {
  const remove = db.prepare('DELETE FROM block WHERE rowid IN (SELECT rowid FROM block WHERE run = ? LIMIT ?)');
  return unsynced(db, () => Number(remove.run(run, max).changes) === max);
}

/** Gives at most `max` free pages back to the file system; false when there are too few to give back, or SQLite cannot. */
export function shrink(db: DatabaseSync, max: number): boolean {
  const free = freePages(db);
  const { pages } = db.prepare('SELECT page_count AS pages FROM pragma_page_count').get() as { pages: number };
  if (free <= spareBytes / 4096 + maxShare * pages) return false;
  unsynced(db, () => db.exec(`PRAGMA incremental_vacuum(${max})`));
  return freePages(db) < free;
}

const freePages = (db: DatabaseSync): number =>
  (db.prepare('SELECT freelist_count AS free FROM pragma_freelist_count').get() as { free: number }).free;

/** Runs and archives that have blocks but are in no table of those. */
export function orphans(db: DatabaseSync): number[] {
  const next = db.prepare('SELECT min(run) AS run FROM block WHERE run > ?');
  const known = db.prepare('SELECT 1 FROM run WHERE id = ?1 UNION ALL SELECT 1 FROM archive WHERE id = ?1');
  const found: number[] = [];
  for (let run = Number.MIN_SAFE_INTEGER; ;) {
    const row = next.get(run) as { run: number | null };
    if (row.run === null) return found;
    run = row.run;
    if (!known.get(run)) found.push(run);
  }
}
