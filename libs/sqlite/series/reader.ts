import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { type SelectedRows, TelemetryError } from '#model';
import { type Handlers, Transferred } from '../worker.js';
import { LentArenas } from './arena-reader.js';
import { keptReader } from './kept.js';
import { nameReader } from './name-reader.js';
import { type ReadRequest, Reads } from './reads.js';
import { type BlockSearch, blockSearch, type Run, runsReader } from './run.js';
import { RunReader } from './run-reader.js';

/** What the store's reader thread does for the series store. */
export function seriesReader(db: DatabaseSync): Handlers {
  const snapshot = new Snapshots(db);
  return {
    ...nameReader(db),
    'series.raw': (request: ReadRequest) => snapshot.read(request, (reads) => transferred(reads.raw())),
    'series.buckets': (request: ReadRequest) => snapshot.read(request, (reads) => transferred(reads.buckets(request.interval!))),
    'series.latest': (request: ReadRequest) => snapshot.read(request, (reads) => reads.latest()),
  };
}

const transferred = (rows: SelectedRows): Transferred =>
  new Transferred(
    rows,
    rows.columns.map(({ buffer }) => buffer as ArrayBuffer),
  );

/** Each read sees the store as it was committed when the read began. */
class Snapshots {
  readonly #lent = new LentArenas();
  readonly #begin: StatementSync;
  readonly #commit: StatementSync;
  readonly #runs: ReturnType<typeof runsReader>;
  readonly #search: BlockSearch;
  readonly #past: ReturnType<typeof keptReader>;
  #readers = new Map<number, RunReader>();
  #deadlineMs = 0;

  constructor(db: DatabaseSync) {
    this.#begin = db.prepare('BEGIN');
    this.#commit = db.prepare('COMMIT');
    this.#runs = runsReader(db);
    this.#past = keptReader(db);
    this.#search = this.#timely(blockSearch(db));
  }

  read<T>(request: ReadRequest, read: (reads: Reads) => T): T {
    const arenas = this.#lent.open(request.arenas);
    this.#deadlineMs = request.deadlineMs;
    this.#checkDeadline();
    this.#begin.run();
    try {
      return read(new Reads(this.#openRuns(), arenas, request, this.#past(), this.#search));
    } finally {
      this.#commit.run();
    }
  }

  #openRuns(): RunReader[] {
    const known = new Map<number, Run>([...this.#readers].map(([id, { run }]) => [id, run]));
    const readers = this.#runs(known).map((run) => this.#readers.get(run.id) ?? new RunReader(this.#search, run));
    this.#readers = new Map(readers.map((reader) => [reader.run.id, reader]));
    return readers;
  }

  /** Checks the deadline before each block. */
  #timely(search: BlockSearch): BlockSearch {
    return (...place) => {
      this.#checkDeadline();
      return search(...place);
    };
  }

  #checkDeadline(): void {
    if (Date.now() <= this.#deadlineMs) return;
    throw new TelemetryError('store_unavailable', 'The read took longer than it may; ask for a shorter window or fewer metrics.');
  }
}
