import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import type { StoreOrigin } from '../store-origin.js';
import type { Handlers } from '../worker.js';
import { type DirectoryRows, readDirectory } from './directory-rows.js';
import { flushArena, type SealedArena } from './flush.js';
import { Merge, mergeable, orphans, shrink, sweep } from './merge.js';
import { type Run, runsReader } from './run.js';
import { createSeriesTables } from './tables.js';

/** What a store holds when it is opened. */
export interface OpenedStore {
  readonly directory: DirectoryRows;
  readonly lastArena: number;
  readonly offsets: Readonly<Record<number, number>>;
}

/** What the store's writer thread does for the series store. */
export function seriesWriter(db: DatabaseSync, origin: StoreOrigin): Handlers {
  createSeriesTables(db);
  const writer = new SeriesWriter(db, origin);
  return {
    'series.open': () => writer.open(),
    'series.flush': (arena: SealedArena) => writer.flush(arena),
    'series.tidy': () => writer.tidy(),
  };
}

const sweptBlocks = 256;
const movedPages = 512;

class SeriesWriter {
  /** The metric of each series, by its number. */
  #metrics: number[] = [];
  #runs: Run[] = [];
  #nextRun = 1;
  #merge: Merge | undefined;
  /** Runs whose blocks are to be removed. */
  #gone: number[] = [];
  #damaged = false;

  constructor(
    private readonly db: DatabaseSync,
    private readonly origin: StoreOrigin,
  ) {}

  open(): OpenedStore {
    const directory = readDirectory(this.db);
    for (const { pairs } of directory.sources) this.#note(pairs);
    this.#runs = runsReader(this.db)();
    this.#gone = orphans(this.db);
    this.#nextRun = 1 + Math.max(0, ...this.#gone, ...this.#runs.map(({ id }) => id));
    const newest = this.#runs.at(-1);
    return { directory, lastArena: newest?.lastArena ?? 0, offsets: newest?.offsets ?? {} };
  }

  /** Does nothing for an arena that is in a run already. */
  flush(arena: SealedArena): void {
    if (arena.number <= (this.#runs.at(-1)?.lastArena ?? 0)) return;
    this.#note(arena.directory.pairs);
    this.#runs.push(flushArena(this.db, this.origin, this.#nextRun++, arena, (series) => this.#metrics[series]!));
  }

  /** Merges runs and removes merged ones, for some milliseconds: the more runs there are, the longer. False when nothing is left to do. */
  tidy(): boolean {
    if (this.#gone.length > 0) {
      if (!sweep(this.db, this.#gone[0]!, sweptBlocks)) this.#gone.shift();
      return true;
    }
    this.#merge ??= this.#begin();
    if (!this.#merge) return shrink(this.db, movedPages);
    this.#step(this.#merge);
    return true;
  }

  #begin(): Merge | undefined {
    const some = this.#damaged ? undefined : mergeable(this.#runs);
    return some && new Merge(this.db, some, this.#nextRun++, (series) => this.#metrics[series]!);
  }

  #step(merge: Merge): void {
    try {
      const run = merge.step(20 + 2 * this.#runs.length);
      if (!run) return;
      this.#runs.splice(this.#runs.indexOf(merge.runs[0]!), merge.runs.length, run);
      this.#gone.push(...merge.runs.map(({ id }) => id));
      this.#merge = undefined;
    } catch (cause) {
      this.#gone.push(merge.id);
      this.#merge = undefined;
      this.#damaged ||= cause instanceof TelemetryError && cause.code === 'store_corrupt';
      throw cause;
    }
  }

  #note(pairs: Uint32Array): void {
    for (let at = 0; at < pairs.length; at += 2) this.#metrics[pairs[at + 1]!] = pairs[at]!;
  }
}
