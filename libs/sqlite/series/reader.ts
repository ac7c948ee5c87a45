import type { DatabaseSync } from 'node:sqlite';
import { type SelectedRows, TelemetryError } from '#model';
import { type Handlers, Moved } from '../worker.js';
import { type ReadRequest, Reads } from './reads.js';
import { type BlockSearch, blockSearch, type Run, readRuns } from './run.js';
import { RunReader } from './run-reader.js';

/** What the store's reader thread does for the series store. */
export function seriesReader(db: DatabaseSync): Handlers {
  const snapshot = new Snapshots(db);
  return {
    'series.raw': (request: ReadRequest) => snapshot.read(request, (reads) => moved(reads.raw())),
    'series.buckets': (request: ReadRequest) => snapshot.read(request, (reads) => moved(reads.buckets(request.interval!))),
    'series.latest': (request: ReadRequest) => snapshot.read(request, (reads) => reads.latest()),
  };
}

const moved = (rows: SelectedRows): Moved =>
  new Moved(
    rows,
    rows.columns.map(({ buffer }) => buffer as ArrayBuffer),
  );

/** Reads within what was committed when they begin. */
class Snapshots {
  #search: BlockSearch | undefined;
  #readers = new Map<number, RunReader>();
  #deadlineMs = 0;

  constructor(private readonly db: DatabaseSync) {}

  read<T>(request: ReadRequest, read: (reads: Reads) => T): T {
    this.#deadlineMs = request.deadlineMs;
    this.#checkDeadline();
    this.db.exec('BEGIN');
    try {
      return read(new Reads(this.#runs(), request));
    } finally {
      this.db.exec('COMMIT');
    }
  }

  #runs(): RunReader[] {
    const known = new Map<number, Run>([...this.#readers].map(([id, { run }]) => [id, run]));
    const search = (this.#search ??= this.#timely(blockSearch(this.db)));
    const readers = readRuns(this.db, known).map((run) => this.#readers.get(run.id) ?? new RunReader(search, run));
    this.#readers = new Map(readers.map((reader) => [reader.run.id, reader]));
    return readers;
  }

  /** A read looks at the clock before each block. */
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
