import { setImmediate } from 'node:timers/promises';
import type { StreamRecord } from '#log';
import { TelemetryError } from '#model';
import type { EncodedEntry } from './frame.js';
import { Gathering } from './gathering.js';
import type { Append } from './journal.js';
import type { Change } from './log-state.js';
import { LogRecord } from './log-record.js';
import type { GroupPosition } from './positions.js';

const bytesOf = (entries: readonly EncodedEntry[]): number => entries.reduce((sum, { bytes }) => sum + bytes, 0);

/** Entries that are written together, and what changes with them. */
interface Waiting {
  readonly entries: readonly EncodedEntry[];
  readonly change: Change;
  readonly bytes: number;
  resolve(): void;
  reject(error: Error): void;
}

/** A commit that has been written. */
export interface Written {
  readonly end: number;
  /** In offset order; undefined when some of them are bytes that were appended without a look inside. */
  readonly records: readonly StreamRecord[] | undefined;
}

interface AppenderOptions {
  /** Resolves when all of it is durable, with the offset of the first record. */
  readonly append: (append: Append) => Promise<number>;
  /** Called when a commit is durable, before its appends resolve. */
  readonly written: (written: Written) => void;
  /** Positions that are worth writing with a commit, though not by themselves. */
  readonly drift: () => readonly GroupPosition[];
  /** Unix milliseconds. */
  readonly clock: () => number;
}

export interface WriteFailure {
  readonly cause: unknown;
  /** By the monotonic clock. */
  readonly atMs: number;
}

const maxCommitBytes = 8 << 20;
const maxWaitingBytes = 64 << 20;

/**
 * Group commit: the appends of one turn of the event loop are written together, and so are those that come while a commit is being written; see
 * `Gathering`.
 */
export class Appender {
  #waiting: Waiting[] = [];
  readonly #gathering = new Gathering();
  #bytes = 0;
  #writing: Promise<void> | undefined;
  #closed: TelemetryError | undefined;
  #failure: WriteFailure | undefined;

  constructor(private readonly options: AppenderOptions) {}

  /** The last write, when it failed. */
  get failure(): WriteFailure | undefined {
    return this.#failure;
  }

  /** Resolves once everything is durable. Rejects `overloaded` when too much waits, and `log_unavailable`. */
  add(entries: readonly EncodedEntry[], change: Change = {}): Promise<void> {
    if (this.#closed) return Promise.reject(this.#closed);
    const bytes = bytesOf(entries);
    if (this.#bytes > 0 && this.#bytes + bytes > maxWaitingBytes) {
      return Promise.reject(new TelemetryError('overloaded', 'The log has more to write than it can take.', { retryAfterS: 1 }));
    }
    this.#bytes += bytes;
    return new Promise((resolve, reject) => {
      this.#waiting.push({ entries, change, bytes, resolve, reject });
      this.#gathering.add();
      this.#writing ??= this.#writeAll();
    });
  }

  /** Takes no more; resolves when what waits is written. */
  async close(error: TelemetryError): Promise<void> {
    this.#closed = error;
    await this.#writing;
  }

  async #writeAll(): Promise<void> {
    await setImmediate();
    while (this.#waiting.length > 0) {
      const appends = this.#nextAppends();
      await this.#write(appends);
      await this.#gathering.answered(appends.length);
    }
    this.#writing = undefined;
  }

  #nextAppends(): readonly Waiting[] {
    let [n, bytes] = [0, 0];
    while (n < this.#waiting.length && bytes < maxCommitBytes) bytes += this.#waiting[n++]!.bytes;
    const appends = this.#waiting.slice(0, n);
    this.#waiting = this.#waiting.slice(n);
    return appends;
  }

  async #write(appends: readonly Waiting[]): Promise<void> {
    const [kept, compacted]: [EncodedEntry[], EncodedEntry[]] = [[], []];
    for (const { entries } of appends) for (const one of entries) (one.isCompacted ? compacted : kept).push(one);
    const positions = [...appends.flatMap(({ change }) => change.positions ?? []), ...this.options.drift()];
    const rewound = appends.flatMap(({ change }) => change.rewound ?? []);
    const begins = appends.reduce((most, { change }) => Math.max(most, change.begins ?? 0), 0);
    const ms = this.options.clock();
    try {
      const first = await this.options.append({ ms, kept, compacted, positions, rewound, begins });
      this.#failure = undefined;
      const ordered = compacted.length === 0 ? kept : [...kept, ...compacted];
      this.options.written({ end: first + ordered.length, records: records(ordered, first, ms) });
      for (const append of appends) append.resolve();
    } catch (cause) {
      this.#failure = { cause, atMs: performance.now() };
      for (const append of appends) append.reject(unavailable(cause as Error));
    } finally {
      for (const append of appends) this.#bytes -= append.bytes;
    }
  }
}

function records(entries: readonly EncodedEntry[], first: number, ms: number): StreamRecord[] | undefined {
  if (entries.some(({ entry }) => !entry)) return undefined;
  return entries.map(({ entry, partition, key, headers, value }, n) => {
    return new LogRecord(entry!.topic, partition, first + n, key, entry!.value, ms, headers, value?.length ?? 0);
  });
}

/** For a caller every failure is the same: the log did not take the entries. */
function unavailable(cause: Error): TelemetryError {
  return new TelemetryError('log_unavailable', 'The log cannot be written now.', { cause, retryAfterS: 1 });
}
