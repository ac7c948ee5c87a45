import { randomBytes } from 'node:crypto';
import { close, constants, fdatasync, ftruncate, open, rename, statSync, write as writeSome } from 'node:fs';
import { basename, dirname } from 'node:path';
import { promisify } from 'node:util';
import { TelemetryError } from '#model';
import { ownerOnly, sync } from '../durable-file.js';
import { encodeCommit, type Part } from './commit.js';
import { beginEpoch, type Epoch } from './epochs.js';
import { logFault } from './fault.js';
import type { EncodedEntry } from './frame.js';
import { journalHeadBytes, journalMark } from './journal-file.js';
import { filePath } from './log-folder.js';
import { LogState, type Change } from './log-state.js';
import { unfinished } from './sealed-writer.js';
import type { Found } from './segments.js';
import type { Witness } from './witness.js';

/** What is appended at once. The kept records take the first offsets, the compacted ones follow. */
export interface Append extends Omit<Change, 'epochs'> {
  readonly ms: number;
  readonly kept: readonly EncodedEntry[];
  readonly compacted: readonly EncodedEntry[];
}

export interface JournalOptions {
  readonly folder: string;
  /** Notes how far the log is durable. */
  readonly witness: Pick<Witness, 'saw'>;
  /** A journal ends with the commit with which it reaches so many bytes. */
  readonly maxBytes: number;
  /** A journal also ends once its oldest record is so old; never when left out. */
  readonly maxAgeMs?: number | undefined;
}

/** Linux writes through to the disk when a file was opened so; elsewhere a flush follows each write. */
const writesThrough = process.platform === 'linux' ? constants.O_DSYNC : 0;

/**
 * A file grows ahead of small commits, by so much: a write that does not change the file's length needs no write of the file system's own journal. The
 * zeros that fill the space are no commit.
 */
const aheadBytes = 1 << 20;
const smallBytes = 64 << 10;

interface OpenFile {
  readonly path: string;
  readonly first: number;
  readonly file: number;
  readonly inode: number;
  readonly seed: number;
  size: number;
  /** When its oldest record was appended; `Infinity` while it has none. */
  oldestMs: number;
  /** Up to where the file has its length already. */
  ahead: number;
}

/** Appends to the log, in one file after the other, without blocking the event loop. One call of `append` at a time. */
export class Journal {
  /** Called when a journal has begun at an offset: the one before it is complete. */
  onBegun: (first: number) => void = () => {};
  /** Oldest first; the last one begins where the log was opened. */
  readonly epochs: readonly Epoch[];
  readonly #state = new LogState();
  #isEpochSaved = false;
  #head: number;
  #open: OpenFile | undefined;
  /** Room for a small commit, with zeros behind it. To make so many of them anew each time would cost more than the commit. */
  readonly #filled = Buffer.alloc(smallBytes + aheadBytes);
  #appending: Promise<unknown> | undefined;
  #isClosed = false;

  private constructor(
    private readonly options: JournalOptions,
    { head, state }: Found,
  ) {
    this.#head = head;
    this.#state.apply(state);
    this.epochs = [...this.#state.epochs, beginEpoch(head)];
  }

  static async open(options: JournalOptions, found: Found): Promise<Journal> {
    const journal = new Journal(options, found);
    const { journal: it } = found;
    if (it) journal.#open = { ...it, ...(await openFile(it.path, constants.O_RDWR)), ahead: it.size };
    return journal;
  }

  /** Offset of the next record; what is before it is durable. */
  get head(): number {
    return this.#head;
  }

  /** Where the log begins, and where the groups go on whose offsets are kept here. */
  get state(): Pick<LogState, 'groups' | 'positions' | 'begins'> {
    return this.#state;
  }

  /** Durable once it resolves, with the offset of the first record. Rejects `log_unavailable`; the next call may succeed. */
  append(append: Append): Promise<number> {
    return (this.#appending = this.#append(append));
  }

  /** Whether the next append begins another journal. @param ms when that is, Unix milliseconds. */
  isFull(ms: number): boolean {
    return this.#open !== undefined && this.#isFull(this.#open, ms);
  }

  /** Takes no more, and ends where the append that is under way leaves the log. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#appending?.catch(() => undefined);
    if (this.#open) await finish(this.#open);
    this.#open = undefined;
  }

  async #append({ ms, kept, compacted, positions, rewound, begins }: Append): Promise<number> {
    const first = this.#head;
    try {
      if (this.#isClosed) throw new Error('the log is closed');
      const file = this.#open && !this.#isFull(this.#open, ms) ? this.#open : await this.#begin();
      const end = first + kept.length + compacted.length;
      const epochs = end > first && !this.#isEpochSaved ? this.epochs.slice(-1) : undefined;
      const change = {
        ...(epochs && { epochs }),
        ...(positions?.length && { positions }),
        ...(rewound?.length && { rewound }),
        ...(begins && { begins }),
      };
      const parts: Part[] = [];
      if (kept.length > 0) parts.push({ kind: 'kept', first, ms, entries: kept });
      if (compacted.length > 0) parts.push({ kind: 'compacted', first: first + kept.length, ms, entries: compacted });
      const commit = encodeCommit({ seed: file.seed, at: file.size }, parts, Object.keys(change).length > 0 ? change : undefined);
      await write(file.file, this.#ahead(file, commit), file.size);
      if (statSync(file.path, { throwIfNoEntry: false })?.ino !== file.inode) throw misplaced(file.path);
      file.size += commit.length;
      if (end > first) file.oldestMs = Math.min(file.oldestMs, ms);
      file.ahead = Math.max(file.ahead, file.size);
      this.#isEpochSaved ||= epochs !== undefined;
      this.#state.apply(change);
      this.#head = end;
      this.options.witness.saw(end);
      return first;
    } catch (cause) {
      throw logFault(cause, `writing from offset ${first}`);
    }
  }

  /** A journal without a record goes on: the next one would have its name. */
  #isFull({ first, size, oldestMs }: OpenFile, ms: number): boolean {
    const { maxBytes, maxAgeMs = Infinity } = this.options;
    return (size >= maxBytes || ms - oldestMs >= maxAgeMs) && this.#head > first;
  }

  /** The commit, with zeros behind it when the file is to grow ahead of it. */
  #ahead(file: OpenFile, commit: Buffer): Buffer {
    const end = file.size + commit.length;
    if (end <= file.ahead || commit.length > smallBytes) return commit;
    file.ahead = end + aheadBytes;
    this.#filled.fill(0, commit.length, smallBytes);
    this.#filled.set(commit);
    return this.#filled.subarray(0, commit.length + aheadBytes);
  }

  /** Begins the next journal, with all of the state that is not in records, so that those before it need not be read for that. */
  async #begin(): Promise<OpenFile> {
    const path = filePath(this.options.folder, 'journal', this.#head);
    const seed = randomBytes(4).readUInt32LE();
    const head = Buffer.alloc(journalHeadBytes);
    head.write(journalMark, 'latin1');
    head.writeUInt32LE(seed, journalMark.length);
    const begin = Buffer.concat([head, encodeCommit({ seed, at: journalHeadBytes }, [], this.#state.whole())]);
    const opened = await openFile(path + unfinished, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC);
    try {
      await write(opened.file, begin, 0);
      await promisify(rename)(path + unfinished, path);
      sync(dirname(path));
    } catch (cause) {
      await promisify(close)(opened.file);
      throw cause;
    }
    const before = this.#open;
    this.#open = { ...opened, path, first: this.#head, seed, size: begin.length, ahead: begin.length, oldestMs: Infinity };
    this.onBegun(this.#head);
    // Zeros that stay behind its last commit do no harm.
    if (before) await finish(before).catch(() => undefined);
    return this.#open;
  }
}

async function openFile(path: string, flags: number): Promise<{ readonly file: number; readonly inode: number }> {
  const file = await promisify(open)(path, flags | writesThrough, ownerOnly);
  return { file, inode: statSync(path).ino };
}

/** Gives back what the file has ahead of its last commit. */
async function finish({ file, size }: OpenFile): Promise<void> {
  try {
    await promisify(ftruncate)(file, size);
  } finally {
    await promisify(close)(file);
  }
}

/** Writes all of some bytes; durable once it resolves. */
function write(file: number, bytes: Buffer, at: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const settle = (error: Error | null): void => (error ? reject(error) : resolve());
    const writeFrom = (from: number): void =>
      writeSome(file, bytes, from, bytes.length - from, at + from, (error, written) => {
        if (error) reject(error);
        else if (from + written < bytes.length) writeFrom(from + written);
        else if (writesThrough) resolve();
        else fdatasync(file, settle);
      });
    writeFrom(0);
  });
}

/** A file that was deleted or replaced can still be written, and all of that is lost when it is closed. */
const misplaced = (path: string): TelemetryError =>
  new TelemetryError(
    'log_unavailable',
    `${basename(path)} was deleted or replaced while the server runs: stop the server and restore the data folder from a copy`,
  );
