import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { isDeadLetters, type Start } from '#log';
import { TelemetryError } from '#model';
import { makePrivate } from '../durable-file.js';
import { transaction } from '../transaction.js';
import { Batches, type Trimming, type TrimStep } from './batches.js';
import { Epochs, type Epoch } from './epochs.js';
import { damaged, inLog, logFileName } from './fault.js';
import type { ChunkRequest, StoredFrames } from './frame.js';
import { Latest } from './latest.js';
import { Letters, type LetterOffset } from './letters.js';
import { Positions, type GroupPosition } from './positions.js';
import { Witness, witnessFileName } from './witness.js';

export type { Trimming } from './batches.js';

/** What one commit writes. Frames of topics that keep all records come first and take the first offsets, compacted ones follow. */
export interface Commit {
  readonly ms: number;
  readonly frames: ArrayBuffer;
  /** Records that are all kept, and the bytes of their frames. */
  readonly kept: number;
  readonly keptBytes: number;
  /** Records of compacted topics. */
  readonly compacted: number;
  /** The dead letters among the records, with their offsets counted from the first record. */
  readonly letters: readonly LetterOffset[];
  readonly positions: readonly GroupPosition[];
}

/** The state of a log when it was opened. */
export interface Opened {
  /** Offset of the next record. */
  readonly head: number;
  /** Oldest first; the last one begins at the head. */
  readonly epochs: readonly Epoch[];
  /** A sentence for the operator; undefined when all is well. */
  readonly warning: string | undefined;
}

/** The log's file, for the one thread that has it open. Errors are `log_corrupt` with the place, or `log_unavailable`. */
export class LogFile {
  readonly #db: DatabaseSync;
  readonly #witness: Witness;
  readonly #batches: Batches;
  readonly #latest: Latest;
  readonly #positions: Positions;
  readonly #epochs: Epochs;
  readonly #letters: Letters;
  readonly #warning: string | undefined;
  readonly #inode: number;
  #head: number;

  /** Opens the file, made if need be, and checks that it holds all that was ever acknowledged. */
  constructor(
    private readonly path: string,
    nowMs: number,
  ) {
    this.#witness = new Witness(join(dirname(path), witnessFileName));
    this.#db = inLog('opening', () => openDatabase(path));
    this.#inode = statSync(path).ino;
    this.#batches = inLog('opening', () => new Batches(this.#db));
    this.#latest = inLog('opening', () => new Latest(this.#db));
    this.#positions = inLog('opening', () => new Positions(this.#db, damaged));
    this.#head = inLog('opening', () => Math.max(this.#batches.end(), this.#latest.end()));
    this.#warning = this.#hearWitness();
    this.#epochs = inLog('opening', () => new Epochs(this.#db, this.#head));
    this.#letters = inLog('opening', () => new Letters(this.#db));
    inLog('noting where dead letters are', () => this.#atomically(() => this.#noteLetters()));
    inLog('dropping old tombstones', () => this.#atomically(() => this.#latest.dropTombstones(nowMs)));
  }

  opened(): Opened {
    return { head: this.#head, epochs: this.#epochs.all, warning: this.#warning };
  }

  /** Offset of the next record. */
  get head(): number {
    return this.#head;
  }

  /** Durable once it returns, with the offset of its first record. */
  commit({ kept, keptBytes, compacted, letters, ms, positions, ...rest }: Commit): number {
    const first = this.#head;
    const frames = Buffer.from(rest.frames);
    inLog(`writing from offset ${first}`, () =>
      this.#atomically(() => {
        if (kept + compacted > 0 && this.#epochs.append()) this.#letters.noteEpochs();
        if (kept > 0) this.#batches.add(first, kept, ms, frames.subarray(0, keptBytes));
        if (compacted > 0) this.#latest.add(first + kept, compacted, ms, frames.subarray(keptBytes));
        for (const { topic, offset } of letters) this.#letters.add({ topic, offset: first + offset });
        this.#positions.move(positions);
        this.#checkPlace();
      }),
    );
    this.#head = first + kept + compacted;
    this.#witness.saw(this.#head);
    return first;
  }

  /** Some records from an offset on, bounded in bytes but for a single commit. */
  read({ from, kept, compacted }: ChunkRequest): StoredFrames {
    return inLog(`reading from offset ${from}`, () => {
      const batches = this.#readKept(from, kept);
      if (compacted.length === 0) return batches;
      const latest = this.#latest.read(from, batches.next, compacted);
      const frames = batches.frames.filter(({ offset }) => offset < latest.next).concat(latest.frames);
      return { frames: frames.toSorted((a, b) => a.offset - b.offset), next: latest.next };
    });
  }

  /** How many dead letters a topic of them has from an offset on. */
  countLetters(topic: string, from: number): number {
    return inLog(`counting the dead letters of ${topic}`, () => this.#letters.count(topic, from));
  }

  /** The names of the groups whose offsets are kept here. */
  groupNames(): readonly string[] {
    return inLog('reading the names of groups', () => this.#positions.names());
  }

  /** Moves a group back, in no partition forward; durable once it returns. Answers the topics that it reads. */
  rewind(group: string, to: Start): readonly string[] {
    return inLog(`moving the group ${group}`, () => this.#atomically(() => this.#positions.rewind(group, this.#offsetOf(to))));
  }

  /** Takes some records out, from the row after `after` on: one step, durable once it returns. */
  trim(after: number, trimming: Trimming): TrimStep {
    return inLog('trimming', () => this.#atomically(() => this.#batches.trim(after, trimming)));
  }

  /** Drops keys of compacted topics without a trace; see `Latest.drop`. */
  dropKeys(from: number, topics: readonly string[], goes: (key: string) => boolean): number | undefined {
    return inLog('dropping keys', () => this.#atomically(() => this.#latest.drop(from, topics, goes)));
  }

  /** Returns unused space to the file system; meanwhile it needs free space for a second copy. */
  shrink(): void {
    inLog('shrinking', () => this.#db.exec('VACUUM'));
  }

  positions(group: string): readonly GroupPosition[] {
    return inLog(`reading the offsets of group ${group}`, () => this.#positions.of(group));
  }

  close(): void {
    this.#db.close();
    this.#witness.close();
  }

  /** Dead letters are few: the rows between them are not read. */
  #readKept(from: number, topics: readonly string[]): StoredFrames {
    if (topics.length === 0) return { frames: [], next: this.#head };
    const skip = topics.every(isDeadLetters) ? (offset: number) => this.#letters.next(topics, offset) : undefined;
    return this.#batches.read(from, topics, this.#head, skip);
  }

  /** Passes over the part of the log that was written without noting letters: all of it in a folder of an older version. */
  #noteLetters(): void {
    const from = this.#letters.unnotedFrom();
    if (from === undefined) return;
    for (const letter of this.#batches.find(from, isDeadLetters)) this.#letters.add(letter);
    this.#letters.noteEpochs();
  }

  /** @throws TelemetryError `log_corrupt` when acknowledged records are missing. When the witness is missing, the log is taken as it is. */
  #hearWitness(): string | undefined {
    const seen = this.#witness.head();
    if (seen === undefined && this.#head > 0) {
      this.#witness.saw(this.#head);
      return `${witnessFileName} is missing or damaged: whether the newest records of the log are all there cannot be told this time.`;
    }
    if (seen === undefined || this.#head >= seen) return undefined;
    throw damaged(
      `it ends at offset ${this.#head}, and records up to ${seen - 1} were acknowledged; to go on without them, remove ${witnessFileName}`,
    );
  }

  #offsetOf(to: Start): number {
    if (to === 'beginning') return 0;
    if ('offset' in to) return to.offset;
    const since = [this.#batches.since(to.timestampMs), this.#latest.since(to.timestampMs)];
    return Math.min(this.#head, ...since.filter((offset) => offset !== undefined));
  }

  /** A file that was deleted or replaced can still be written, and all of that is lost when it is closed. */
  #checkPlace(): void {
    if (statSync(this.path, { throwIfNoEntry: false })?.ino !== this.#inode) throw new TelemetryError('log_unavailable', misplaced);
  }

  #atomically<T>(work: () => T): T {
    try {
      return transaction(this.#db, work);
    } catch (cause) {
      this.#batches.forget();
      this.#latest.forget();
      this.#epochs.forget(this.#head);
      throw cause;
    }
  }
}

const misplaced = `${logFileName} was deleted or replaced while the server runs: stop the server and restore the data folder from a copy`;

function openDatabase(path: string): DatabaseSync {
  makePrivate(path);
  const db = new DatabaseSync(path);
  db.exec('PRAGMA page_size = 4096; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL');
  return db;
}
