import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { createBoundaries, type KeptSince, readBoundaries, writeBoundaries } from '../boundaries.js';
import { transaction } from '../transaction.js';
import type { Handlers } from '../worker.js';
import { ArenaMemory, type OpenedStore, type SealedArena } from './arena.js';
import { missing, nameTables, readNames, writeDirectory } from './directory-rows.js';
import { type EndedSeries, endedTable, insertEnded, readEnded } from './ended.js';
import { Keeping, leftOf, planOf } from './keeping.js';
import { allKept, checkKeptRow, insertArchive, keptReader, type KeptArchives, keptTables, writeKept } from './kept.js';
import { emptied, halfGone, Merge, mergeable, orphans, shrink, sweep } from './merge.js';
import { NameCheck } from './name-check.js';
import { Points } from './points.js';
import type { Archive } from './archive.js';
import { blockInsert, insertRun, removeRun, type Run, runsReader } from './run.js';
import { RunWriter } from './run-writer.js';
import { isMuchGone, SeriesBounds } from './series-bounds.js';
import { sortPoints } from './sort-points.js';
import { positionsBySmallValue } from './sorted-positions.js';
import { inOrder } from './tag-sets.js';

/**
 * Blocks of runs that the `run` table does not name are left over from a merge that did not end, or from merged runs: see `sweep`.
 * `newest` repeats how far the runs reach, so that the loss of the last run is noticed too.
 */
const tables = `
  CREATE TABLE IF NOT EXISTS run(id INTEGER PRIMARY KEY, info TEXT NOT NULL, crc INT NOT NULL);
  CREATE TABLE IF NOT EXISTS newest(id INTEGER PRIMARY KEY CHECK (id = 1), arena INT NOT NULL);
  CREATE TABLE IF NOT EXISTS block(
    run INT NOT NULL, kind INT NOT NULL, key INT NOT NULL, time_ms INT NOT NULL, number INT NOT NULL, body BLOB NOT NULL);
  CREATE UNIQUE INDEX IF NOT EXISTS block_place ON block(run, kind, key, time_ms, number);
  CREATE TABLE IF NOT EXISTS metric(id INTEGER PRIMARY KEY, name TEXT NOT NULL, crc INT NOT NULL);
  CREATE TABLE IF NOT EXISTS source(id INTEGER PRIMARY KEY, org TEXT NOT NULL, name TEXT NOT NULL, series BLOB NOT NULL, crc INT NOT NULL);
`;

export function createSeriesTables(db: DatabaseSync): void {
  db.exec(tables + nameTables + keptTables + endedTable);
  createBoundaries(db);
}

/**
 * What the store's writer thread does for the series store.
 * @param took is told of the offset after the newest record in the store, in the transaction that puts it there.
 */
export function seriesWriter(db: DatabaseSync, took: (next: number) => void): Handlers {
  createSeriesTables(db);
  const writer = new SeriesWriter(db, took);
  return {
    'series.open': () => writer.open(),
    'series.checkNames': () => writer.checkNames(),
    'series.flush': (arena: SealedArena) => writer.flush(arena),
    'series.keepSince': (since: KeptSince) => writer.keepSince(since),
    'series.tidy': () => writer.tidy(),
  };
}

const sweptBlocks = 256;
const movedPages = 512;
const nameSliceMs = 20;
/** Room for series that come. */
const growth = 1.25;

class SeriesWriter {
  /** The metric of each series, by its number; 0 once it has ended. Complete once the names are checked. */
  #metrics = new Uint32Array(0);
  #lastSeries = 0;
  /** Undefined once it is done. */
  #names: NameCheck | undefined;
  #runs: Run[] = [];
  #nextRun = 1;
  #merge: Merge | undefined;
  #past: KeptArchives = { kept: allKept, archives: [] };
  #keeping: Keeping | undefined;
  #lastArchive = 0;
  #bounds: SeriesBounds | undefined;
  /** Runs of which much may be gone since the bounds have moved. */
  #unlooked: Run[] = [];
  /** Runs and archives whose blocks are to be removed. */
  #gone: number[] = [];
  #damaged = false;
  readonly #metricOf = (series: number): number => this.#metrics[series] ?? 0;
  readonly #fromOf = (series: number): number => Math.max(this.#past.kept.reached.raw, this.#bounds?.fromOf(series) ?? 0);

  constructor(
    private readonly db: DatabaseSync,
    private readonly took: (next: number) => void,
  ) {}

  open(): OpenedStore {
    const ended = readEnded(this.db);
    const names = readNames(this.db, ended.series);
    this.#lastSeries = names.lastSeries;
    this.#metrics = new Uint32Array(names.lastSeries + 1);
    this.#names = new NameCheck(this.db, names, (pairs) => this.#note(pairs));
    this.#runs = runsReader(this.db)();
    checkKeptRow(this.db);
    this.#past = keptReader(this.db)();
    if (highestSeries(this.#runs, this.#past.archives) > names.lastSeries) throw missing('a source');
    this.#gone = orphans(this.db);
    this.#nextRun = 1 + Math.max(0, ...this.#gone, ...this.#runs.map(({ id }) => id));
    this.#lastArchive = Math.min(0, ...this.#gone, ...this.#past.archives.map(({ id }) => id));
    const since = readBoundaries(this.db, 'points');
    this.#bound(since);
    const newest = this.#runs.at(-1);
    const offsets = newest?.offsets ?? {};
    const held = Math.max(-1, ...Object.values(offsets));
    const ahead = ended.deletions.filter(({ offset }) => offset > held);
    return { names, lastArena: newest?.lastArena ?? 0, offsets, wanted: this.#past.kept.wanted, since, ahead };
  }

  /** Looks at names for some milliseconds; false once it has looked at all. */
  checkNames(sliceMs = nameSliceMs): boolean {
    if (this.#names && !this.#names.step(sliceMs)) this.#names = undefined;
    return this.#names !== undefined;
  }

  /**
   * Writes a sealed arena as one run, in one transaction with its names, its place in the log, and what is to be kept once it is in a run. Does nothing
   * for an arena that is in a run already.
   */
  flush(arena: SealedArena): void {
    if (arena.number <= (this.#runs.at(-1)?.lastArena ?? 0)) return;
    this.checkNames(Infinity);
    this.#note(arena.directory.pairs);
    const writer = new RunWriter(this.#nextRun++, this.#metricOf, blockInsert(this.db));
    const kept = { ...this.#past.kept, ...arena.wanted };
    const run = transaction(this.db, () => {
      this.took(arena.next);
      if (arena.wanted) writeKept(this.db, kept);
      writeDirectory(this.db, arena.directory);
      for (const ended of arena.ended) insertEnded(this.db, ended);
      writePoints(arena, writer);
      const made: Run = { ...writer.finish(), level: 0, firstArena: arena.number, lastArena: arena.number, offsets: arena.offsets };
      insertRun(this.db, made);
      return made;
    });
    for (const ended of arena.ended) this.#end(ended);
    this.#runs.push(run);
    this.#past = { ...this.#past, kept };
  }

  /** From now on, what is written anew leaves out what organizations have no longer. */
  keepSince(since: KeptSince): void {
    transaction(this.db, () => writeBoundaries(this.db, 'points', since));
    this.#bound(since);
  }

  /** Moves what is kept, merges runs and removes merged ones, for some milliseconds: the more runs there are, the longer. False when nothing is left to do. */
  tidy(): boolean {
    if (this.#gone.length > 0) {
      if (!sweep(this.db, this.#gone[0]!, sweptBlocks)) this.#gone.shift();
      return true;
    }
    if (this.checkNames()) return true;
    if (this.#bounds?.step(this.#sliceMs)) return true;
    // What is being archived reads the runs as they are.
    if (!this.#merge) this.#keeping ??= this.#beginKeeping();
    if (this.#keeping) return this.#keep(this.#keeping);
    if (!this.#merge && this.#unlooked.length > 0) return this.#look(this.#unlooked.pop()!);
    this.#merge ??= this.#begin();
    if (!this.#merge) return shrink(this.db, movedPages);
    return this.#step(this.#merge);
  }

  get #sliceMs(): number {
    return 20 + 2 * this.#runs.length;
  }

  #bound(since: KeptSince): void {
    if (since.size === 0) return;
    this.#bounds = new SeriesBounds(this.db, since, this.#lastSeries);
    this.#unlooked = [...this.#runs];
  }

  /** Writes a run anew of which much is gone. */
  #look(run: Run): true {
    const isRead = this.#runs.includes(run) && !this.#damaged;
    if (isRead && isMuchGone(this.db, run, this.#fromOf)) this.#merge = this.#mergeOf([run]);
    return true;
  }

  #beginKeeping(): Keeping | undefined {
    const plan = this.#damaged ? undefined : planOf(this.#past);
    return (
      plan &&
      new Keeping(
        this.db,
        this.#runs,
        this.#past,
        this.#metrics.slice(1, this.#lastSeries + 1),
        plan,
        this.#lastArchive,
        (series) => this.#bounds?.fromOf(series) ?? 0,
      )
    );
  }

  #keep(keeping: Keeping): true {
    try {
      const made = keeping.step(this.#sliceMs);
      if (!made) return true;
      this.#finishKeeping(keeping, made);
    } catch (cause) {
      this.#gone.push(...keeping.ids);
      this.#keeping = undefined;
      this.#failed(cause);
    } finally {
      this.#lastArchive = Math.min(this.#lastArchive, ...keeping.ids);
    }
    this.#keeping = undefined;
    return true;
  }

  /** All readers see the new boundaries at once, with the archives in place of the points. */
  #finishKeeping({ plan: { reached } }: Keeping, made: readonly Archive[]): void {
    const { kept, archives } = this.#past;
    const left = leftOf(archives, made, reached);
    const past: KeptArchives = {
      kept: { ...kept, reached, newest: made.at(-1)?.id ?? kept.newest },
      archives: [...left, ...made].toSorted((a, b) => a.fromMs - b.fromMs),
    };
    const dropped = archives.filter((archive) => !left.includes(archive));
    const runs = this.#runs.map((run) => (run.points > 0 && run.lastMs < reached.raw ? emptied(run, this.#nextRun++) : run));
    const replaced = this.#runs.filter((run) => !runs.includes(run));
    transaction(this.db, () => {
      for (const archive of made) insertArchive(this.db, archive);
      const remove = this.db.prepare('DELETE FROM archive WHERE id = ?');
      for (const { id } of dropped) remove.run(id);
      for (const { id } of replaced) removeRun(this.db, id);
      for (const run of runs) if (!this.#runs.includes(run)) insertRun(this.db, run);
      writeKept(this.db, past.kept);
    });
    this.#past = past;
    this.#runs = runs;
    this.#gone.push(...[...dropped, ...replaced].map(({ id }) => id));
  }

  #begin(): Merge | undefined {
    const { kept } = this.#past;
    const some = this.#damaged ? undefined : (halfGone(this.#runs, kept) ?? mergeable(this.#runs));
    return some && this.#mergeOf(some);
  }

  #mergeOf(runs: readonly Run[]): Merge {
    try {
      return new Merge(this.db, runs, this.#nextRun++, this.#metricOf, this.#fromOf);
    } catch (cause) {
      return this.#failed(cause);
    }
  }

  #step(merge: Merge): true {
    try {
      const run = merge.step(this.#sliceMs);
      if (!run) return true;
      this.#runs.splice(this.#runs.indexOf(merge.runs[0]!), merge.runs.length, run);
      this.#gone.push(...merge.runs.map(({ id }) => id));
    } catch (cause) {
      this.#gone.push(merge.id);
      this.#merge = undefined;
      this.#failed(cause);
    }
    this.#merge = undefined;
    return true;
  }

  #failed(cause: unknown): never {
    this.#damaged ||= cause instanceof TelemetryError && cause.code === 'store_corrupt';
    throw cause;
  }

  #note(pairs: Uint32Array): void {
    for (let at = 1; at < pairs.length; at += 2) this.#lastSeries = Math.max(this.#lastSeries, pairs[at]!);
    if (this.#lastSeries >= this.#metrics.length) {
      const grown = new Uint32Array(Math.ceil(growth * (this.#lastSeries + 1)));
      grown.set(this.#metrics);
      this.#metrics = grown;
    }
    for (let at = 0; at < pairs.length; at += 2) this.#metrics[pairs[at + 1]!] = pairs[at]!;
  }

  #end({ series }: EndedSeries): void {
    for (const one of series) this.#metrics[one] = 0;
  }
}

/** The highest number of a series that has points or rows. */
const highestSeries = (runs: readonly Run[], archives: readonly Archive[]): number =>
  Math.max(0, ...runs.map(({ raw }) => raw.last.key), ...archives.flatMap(({ segments }) => segments.map(({ to }) => to.key)));

/** Hands over the points of an arena in the order of series, time and tags. */
function writePoints(arena: SealedArena, writer: RunWriter): void {
  const { tagSets, places } = inOrder(arena.tagSets);
  const memory = new ArenaMemory(arena.buffers.pieces, arena.size, arena.buffers.chunks);
  const seriesOf = memory.seriesOf(arena.pieces);
  // The pieces of each series stay in the order in which they came.
  const order = positionsBySmallValue(seriesOf);
  const taken = new Points(longestSeries(memory, seriesOf, order));
  taken.tagSets = tagSets;
  const spare = new Points(taken.timeMs.length);
  for (let at = 0; at < order.length;) {
    const series = seriesOf[order[at]!]!;
    taken.length = 0;
    for (; at < order.length && seriesOf[order[at]!] === series; at++) {
      const piece = order[at]!;
      memory.copyPiece(piece, places[memory.tag(piece)]!, -Infinity, Infinity, taken);
    }
    const sorted = sortPoints(taken, spare);
    writer.add(series, sorted, 0, sorted.length);
  }
}

function longestSeries(memory: ArenaMemory, seriesOf: Uint32Array, order: Uint32Array): number {
  let longest = 0;
  let length = 0;
  for (let at = 0; at < order.length; at++) {
    const piece = order[at]!;
    if (at > 0 && seriesOf[piece] !== seriesOf[order[at - 1]!]) length = 0;
    length += memory.length(piece);
    longest = Math.max(longest, length);
  }
  return longest;
}
