import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { endOf, framesIn, type Batch, type Kind } from './batch.js';
import { newestRecords } from './compaction.js';
import { damaged, inLog } from './fault.js';
import type { ChunkRequest, StoredFrame, StoredFrames } from './frame.js';
import { JournalFile, journalHeadBytes } from './journal-file.js';
import { filePath, filesIn } from './log-folder.js';
import { LogState, type Change } from './log-state.js';
import { SealedFile, type Contents } from './sealed-file.js';
import { SealedWriter, unfinished } from './sealed-writer.js';
import type { Segment, Wanted } from './segment.js';
import { witnessFileName } from './witness.js';

/** The log as it was found. */
export interface Found {
  /** Offset of the next record. */
  readonly head: number;
  /** The change that makes the state at the head of an empty one. */
  readonly state: Change;
  /** The journal that is appended to next; undefined when a new one has to be begun. */
  readonly journal: (Pick<JournalFile, 'path' | 'first' | 'size' | 'oldestMs'> & { readonly seed: number }) | undefined;
}

/** A sealed file that may go, for all that is known of its records here. */
export interface Aged {
  /** The offset after its last record. */
  readonly end: number;
  /** When its newest record was appended, Unix milliseconds. */
  readonly newestMs: number;
}

/** A read ends with the piece with which it reaches one of these. */
const readBytes = 1 << 20;
const scanBytes = 8 << 20;

/** The newest values are written again when so many records of compacted topics, in bytes, or so many segments were sealed since. */
const most = { bytes: 4 << 20, segments: 64 };

/** How a log is written anew. */
export interface Rewriting {
  /** What takes the place of the frame of a record that is kept. */
  readonly frame: (topic: string, frame: Buffer, ms: number) => Buffer;
  /** Whether a compacted topic loses a key. */
  readonly isDropped: (topic: string, key: string) => boolean;
  readonly rewound: Change['rewound'] & {};
}

/** The files of a log, for everything but appending. Throws `log_corrupt` with the place, or `log_unavailable`. */
export class Segments {
  #segments: Segment[];
  /** The newest values of the compacted topics before `#newestEnd`. */
  #newest: SealedFile | undefined;
  #newestEnd: number;
  #work: Generator<undefined> | undefined;

  /** Makes the folder if need be, and removes what a crash left unfinished or twice. */
  constructor(private readonly folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    for (const name of readdirSync(folder)) if (name.endsWith(unfinished)) rmSync(join(folder, name));
    const files = filesIn(folder);
    const newest = files.findLast(({ kind }) => kind === 'newest');
    const isOld = ({ kind, offset }: (typeof files)[number]): boolean =>
      (kind === 'journal' && files.some((it) => it.kind === 'sealed' && it.offset === offset)) ||
      (kind === 'newest' && offset < newest!.offset);
    for (const { path } of files.filter(isOld)) rmSync(path);
    this.#newest = newest && new SealedFile(newest.path, 0);
    this.#newestEnd = newest?.offset ?? 0;
    this.#segments = files
      .filter((it) => it.kind !== 'newest' && !isOld(it))
      .map(({ kind, path, offset }) => (kind === 'sealed' ? new SealedFile(path, offset) : new JournalFile(path, offset)));
  }

  /**
   * Finds the end of the log. What is behind the last whole commit is cut off, because it was never acknowledged.
   * @param least the head that the log must have; undefined when that is not known.
   */
  recover(least = 0): Found {
    return inLog('opening', () => {
      const last = this.#segments.at(-1);
      const found = last instanceof JournalFile ? recovered(last) : this.#foundBehind(last);
      const { begins = 0 } = found.state;
      if (this.#newestEnd < begins) throw damaged(`the file with the newest values before offset ${begins} is missing`);
      // A crash may have left what was to go.
      this.drop(begins);
      const [first] = this.#segments;
      if (first && first.first > begins) throw damaged(`the files before ${basename(first.path)} are missing`);
      if (found.head < least)
        throw damaged(
          `it ends at offset ${found.head}, and records up to ${least - 1} were acknowledged; to go on without them, remove log/${witnessFileName}`,
        );
      if (last instanceof JournalFile) last.cut();
      return found;
    });
  }

  /** A journal was begun, and the one before it is complete. */
  begun(first: number): void {
    this.#segments.push(new JournalFile(filePath(this.folder, 'journal', first), first));
  }

  /** Some records from an offset on, bounded in bytes but for a single piece. */
  read({ from, to, kept, compacted }: ChunkRequest): StoredFrames {
    return inLog(`reading from offset ${from}`, () => {
      const batches = this.#pick({ kind: 'kept', from, to, topics: new Set(kept) });
      if (compacted.length === 0) return batches;
      const newest = this.#pick({ kind: 'compacted', from, to: batches.next, topics: new Set(compacted) });
      const frames = batches.frames.filter(({ offset }) => offset < newest.next).concat(newest.frames);
      return { frames: frames.toSorted((a, b) => a.offset - b.offset), next: newest.next };
    });
  }

  /** How many records a topic that keeps all of them has from an offset on. */
  count(topic: string, from: number, to: number): number {
    return inLog(`counting the records of ${topic}`, () => {
      let count = 0;
      for (const piece of this.#pieces({ kind: 'kept', from, to, topics: new Set([topic]), isPassing: true })) {
        for (const batch of piece) for (const it of framesIn(batch)) if (it.offset >= from && it.topic === topic) count++;
      }
      return count;
    });
  }

  /** Offset of the first record that was appended at a time or later, Unix milliseconds; `to` when there is none before it. */
  since(sinceMs: number, to: number): number {
    return inLog('looking for a time', () => {
      const firstOf = (kind: Kind): number => {
        const batches = flat(this.#pieces({ kind, from: 0, to, sinceMs, isPassing: true }));
        return batches.find(({ ms }) => ms >= sinceMs)?.first ?? to;
      };
      return Math.min(firstOf('kept'), firstOf('compacted'));
    });
  }

  /**
   * Does some milliseconds of what there is to do in the background, and says whether there is more: seals the journals that are complete, and then
   * writes the newest values of the compacted topics when that spares enough.
   * @param newestTo the newest values must reach so far.
   */
  tidy(nowMs: number, newestTo = 0): boolean {
    return inLog('sealing', () => {
      this.#work ??= this.#tidying(nowMs, newestTo);
      try {
        if (this.#work.next().done) this.#work = undefined;
      } catch (cause) {
        this.#work = undefined;
        throw cause;
      }
      return this.#work !== undefined;
    });
  }

  /** The oldest sealed files, as far as all of their records were appended before a time, Unix milliseconds. */
  aged(beforeMs: number): readonly Aged[] {
    return inLog('looking for old records', () => {
      const aged: Aged[] = [];
      for (const [n, segment] of this.#segments.slice(0, this.#sealedCount).entries()) {
        const end = this.#segments[n + 1]?.first;
        const newestMs = Math.max(...(segment as SealedFile).contents().blocks.map(({ ms }) => ms[1]));
        if (end === undefined || newestMs >= beforeMs) break;
        aged.push({ end, newestMs });
      }
      return aged;
    });
  }

  /** Removes the files that end before the log begins, which is durable, as are the newest values before that. */
  drop(begins: number): void {
    inLog('dropping old records', () => {
      for (let [oldest, next] = this.#segments; next && next.first <= begins; [oldest, next] = this.#segments) {
        rmSync(oldest!.path, { force: true });
        this.#segments = this.#segments.slice(1);
      }
    });
  }

  /** All records that are kept, for a log that nobody appends to. */
  *kept(to: number): Generator<Batch> {
    for (const piece of this.#pieces({ kind: 'kept', from: 0, to })) yield* piece;
  }

  /**
   * Writes each file anew, for a log that nobody else has open. Whenever it is ended, it can be begun again. Gives the offset that it has come to, and
   * undefined in between.
   * @param found what `recover` has found.
   */
  *rewrite({ head, state }: Found, { frame, isDropped, rewound }: Rewriting, nowMs: number): Generator<number | undefined> {
    if (this.#segments.length === 0) return;
    yield* this.#compact(head, nowMs, isDropped);
    for (const [n, { first, path }] of this.#segments.entries()) {
      const end = this.#segments[n + 1]?.first ?? head;
      const last = n === this.#segments.length - 1 ? changed(state, { rewound }) : undefined;
      const sealed = new SealedFile(filePath(this.folder, 'sealed', first), first);
      const batches = this.#pieces({ kind: 'kept', from: first, to: end });
      yield* writing(sealed.path, { first, end, state: last }, () => mapped(batches, frame));
      this.#segments[n] = sealed;
      if (path !== sealed.path) rmSync(path);
      yield end;
    }
  }

  #foundBehind(last: Segment | undefined): Found {
    if (!last) return { head: 0, state: {}, journal: undefined };
    const { end, state } = (last as SealedFile).contents();
    if (!state) throw damaged(`the files after ${basename(last.path)} are missing`);
    return { head: end, state, journal: undefined };
  }

  #pick(wanted: Wanted & { readonly topics: ReadonlySet<string> }): StoredFrames {
    const frames: StoredFrame[] = [];
    if (wanted.topics.size === 0) return { frames, next: wanted.to };
    let [read, scanned] = [0, 0];
    for (const piece of this.#pieces({ ...wanted, isPassing: true })) {
      for (const batch of piece) {
        for (const { offset, topic, frame } of framesIn(batch)) {
          if (offset < wanted.from || !wanted.topics.has(topic)) continue;
          frames.push({ offset, ms: batch.ms, frame: Buffer.from(frame) });
          read += frame.length;
        }
        scanned += batch.frames.length;
      }
      if (read >= readBytes || scanned >= scanBytes) return { frames, next: Math.min(endOf(piece.at(-1)!), wanted.to) };
    }
    return { frames, next: wanted.to };
  }

  *#pieces(wanted: Wanted): Generator<readonly Batch[]> {
    let { from } = wanted;
    if (wanted.kind === 'compacted' && from < this.#newestEnd) {
      yield* this.#newest!.pieces({ ...wanted, to: Math.min(wanted.to, this.#newestEnd) });
      from = this.#newestEnd;
    }
    for (const [n, segment] of this.#segments.entries()) {
      const to = Math.min(this.#segments[n + 1]?.first ?? Infinity, wanted.to);
      if (to > from && to > segment.first) yield* segment.pieces({ ...wanted, from, to });
    }
  }

  *#tidying(nowMs: number, newestTo: number): Generator<undefined> {
    for (let n = this.#sealedCount; this.#segments[n + 1]; n++) yield* this.#seal(n);
    if (newestTo > this.#newestEnd || this.#sparesEnough())
      yield* this.#compact(this.#segments[this.#sealedCount]?.first ?? newestTo, nowMs);
  }

  /** How many segments are sealed: the oldest are sealed first. */
  get #sealedCount(): number {
    const n = this.#segments.findIndex((segment) => segment instanceof JournalFile);
    return n < 0 ? this.#segments.length : n;
  }

  *#seal(n: number): Generator<undefined> {
    const journal = this.#segments[n]!;
    const { first } = journal;
    const end = this.#segments[n + 1]!.first;
    const sealed = new SealedFile(filePath(this.folder, 'sealed', first), first);
    const pieces = journal.pieces({ from: first, to: end, isPassing: true });
    yield* writing(sealed.path, { first, end }, () => flat(pieces));
    this.#segments[n] = sealed;
    rmSync(journal.path);
  }

  #sparesEnough(): boolean {
    if (this.#sealedCount === this.#segments.length) return false;
    const since = this.#segments.slice(0, this.#sealedCount).filter(({ first }) => first >= this.#newestEnd);
    const bytes = since.reduce((sum, it) => sum + (it as SealedFile).contents().bytes.compacted, 0);
    return since.length >= most.segments || bytes >= Math.max(most.bytes, this.#newest?.contents().bytes.compacted ?? 0);
  }

  *#compact(end: number, nowMs: number, isDropped: Rewriting['isDropped'] = () => false): Generator<undefined> {
    const path = filePath(this.folder, 'newest', end);
    const pieces = (): Iterable<readonly Batch[]> => this.#pieces({ kind: 'compacted', from: 0, to: end });
    yield* writing(path, { first: 0, end }, () => newestRecords(pieces, nowMs, isDropped));
    const older = this.#newest;
    this.#newest = new SealedFile(path, 0);
    this.#newestEnd = end;
    if (older && older.path !== path) rmSync(older.path);
  }
}

function recovered(journal: JournalFile): Found {
  const state = new LogState();
  journal.readTo(Infinity, ({ change }) => state.apply(change));
  const { path, first, seed, end: head, size, oldestMs } = journal;
  if (seed === undefined || size === journalHeadBytes) throw damaged(`${basename(path)} does not begin as a journal does`);
  return { head, state: state.whole(), journal: { path, first, seed, size, oldestMs } };
}

/** Writes batches to a sealed file. It stops after each of its steps, which take some milliseconds. */
function* writing(
  path: string,
  { first, end, state }: Pick<Contents, 'first' | 'end'> & { readonly state?: Change | undefined },
  batches: () => Iterable<Batch | undefined>,
): Generator<undefined> {
  using writer = new SealedWriter(path);
  for (const batch of batches()) if (!batch || writer.add(batch)) yield;
  writer.finish(first, end, state);
}

function* flat<T>(pieces: Iterable<readonly T[]>): Generator<T> {
  for (const piece of pieces) yield* piece;
}

function* mapped(pieces: Iterable<readonly Batch[]>, frame: Rewriting['frame']): Generator<Batch> {
  for (const batch of flat(pieces)) {
    const frames = Buffer.concat([...framesIn(batch)].map((it) => frame(it.topic, it.frame, batch.ms)));
    yield { ...batch, frames };
  }
}

function changed(state: Change, change: Change): Change {
  const result = new LogState();
  result.apply(state);
  result.apply(change);
  return result.whole();
}
