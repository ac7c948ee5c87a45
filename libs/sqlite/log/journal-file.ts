import { closeSync, fstatSync, fsyncSync, ftruncateSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { type Batch, endOf } from './batch.js';
import { type Commit, commitHeadBytes, decodeCommit } from './commit.js';
import { damaged } from './fault.js';
import { type Segment, Summary, type Wanted } from './segment.js';

/** At the front of each journal, before the seed of its checksums. */
export const journalMark = 'HWJRNL1\n';
export const journalHeadBytes = journalMark.length + 4;

/** Commits that follow each other, whose summary spares reading them. */
class Stretch extends Summary {
  constructor(
    readonly at: number,
    public toAt = at,
  ) {
    super();
  }
}

const stretchBytes = 1 << 20;

interface PlacedCommit extends Commit {
  /** Where the next commit begins. */
  readonly next: number;
}

/** A journal, which its writer may still append to: it is read up to an offset that is known to be durable. */
export class JournalFile implements Segment {
  readonly #stretches: Stretch[] = [];
  /** Undefined before the front of the file was read. */
  #head: { readonly seed: number | undefined } | undefined;
  #end: number;
  #size = journalHeadBytes;

  constructor(
    readonly path: string,
    readonly first: number,
  ) {
    this.#end = first;
  }

  /** The seed of its checksums; undefined when the file does not begin as a journal does. */
  get seed(): number | undefined {
    this.#head ??= { seed: seedIn(this.path) };
    return this.#head.seed;
  }

  /** The offset after the last record that was read. */
  get end(): number {
    return this.#end;
  }

  /** When the oldest record that was read was appended, Unix milliseconds; `Infinity` when none was. */
  get oldestMs(): number {
    return Math.min(Infinity, ...this.#stretches.map(({ ms }) => ms[0]));
  }

  /** Where the next commit is written, in bytes from the front. */
  get size(): number {
    return this.#size;
  }

  /** Reads on to an offset, or to the last whole commit when that comes first. `take` is given each commit, whose records it must not keep. */
  readTo(to: number, take: (commit: Commit) => void = () => {}): void {
    if (this.seed === undefined) return;
    inFile(this.path, (file) => {
      const window = new FileWindow(file, true);
      while (this.#end < to) {
        const commit = this.#commitAt(window, this.#size);
        if (!commit || !this.#note(commit)) return;
        take(commit);
      }
    });
  }

  /** Cuts off what follows the last whole commit that was read. */
  cut(): void {
    const file = openSync(this.path, 'r+');
    try {
      ftruncateSync(file, this.#size);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
  }

  *pieces(wanted: Wanted): Generator<readonly Batch[]> {
    this.readTo(wanted.to);
    if (this.#end < wanted.to) throw damaged(`${basename(this.path)} cannot be read from offset ${this.#end} on`);
    const file = openSync(this.path, 'r');
    try {
      const passing = wanted.isPassing ? new FileWindow(file, true) : undefined;
      for (const stretch of this.#stretches) {
        if (!stretch.mayHave(wanted)) continue;
        const window = passing ?? new FileWindow(file);
        for (let at = stretch.at; at < stretch.toAt;) {
          const commit = this.#commitAt(window, at);
          if (!commit) throw damaged(`${basename(this.path)} has changed between offsets ${stretch.first} and ${stretch.end}`);
          at = commit.next;
          yield commit.batches.filter(({ kind, first }) => (wanted.kind ?? kind) === kind && first < wanted.to);
        }
      }
    } finally {
      closeSync(file);
    }
  }

  #commitAt(window: FileWindow, at: number): PlacedCommit | undefined {
    const head = window.read(at, commitHeadBytes);
    const length = head?.readUInt32LE(0) ?? 0;
    const crc = head?.readUInt32LE(4) ?? 0;
    const bytes = length === 0 ? undefined : window.read(at + commitHeadBytes, length);
    const commit = bytes && decodeCommit({ seed: this.seed!, at }, crc, bytes);
    return commit && { ...commit, next: at + commitHeadBytes + length };
  }

  /** False for a commit that does not go on where the last one ended. */
  #note({ batches, next }: PlacedCommit): boolean {
    const [first] = batches;
    if (first && first.first !== this.#end) return false;
    let stretch = this.#stretches.at(-1);
    if (!stretch || stretch.toAt - stretch.at >= stretchBytes) this.#stretches.push((stretch = new Stretch(this.#size)));
    for (const batch of batches) stretch.add(batch);
    stretch.toAt = this.#size = next;
    this.#end = batches.length > 0 ? endOf(batches.at(-1)!) : this.#end;
    return true;
  }
}

function seedIn(path: string): number | undefined {
  return inFile(path, (file) => {
    const head = Buffer.alloc(journalHeadBytes);
    const isWhole =
      readSync(file, head, 0, journalHeadBytes, 0) === journalHeadBytes && head.toString('latin1', 0, journalMark.length) === journalMark;
    return isWhole ? head.readUInt32LE(journalMark.length) : undefined;
  });
}

function inFile<T>(path: string, work: (file: number) => T): T {
  const file = openSync(path, 'r');
  try {
    return work(file);
  } finally {
    closeSync(file);
  }
}

const windowBytes = 1 << 20;

/** Reads a file, mostly from front to back, with few calls of the system. */
export class FileWindow {
  readonly #size: number;
  #room = Buffer.of();
  #bytes = this.#room;
  #at = 0;

  /** @param isReused whether a read may overwrite the bytes that an earlier read returned. */
  constructor(
    private readonly file: number,
    private readonly isReused = false,
  ) {
    this.#size = fstatSync(file).size;
  }

  /**
   * A view of some bytes from a place on. It stays as it is, unless memory is reused: then it is valid until the next read. Undefined when the file ended
   * before those bytes at the time at which this window was made.
   */
  read(at: number, length: number): Buffer | undefined {
    if (at + length > this.#size) return undefined;
    if (at < this.#at || at + length > this.#at + this.#bytes.length)
      this.#move(at, Math.min(Math.max(length, windowBytes), this.#size - at));
    const from = at - this.#at;
    return from + length <= this.#bytes.length ? this.#bytes.subarray(from, from + length) : undefined;
  }

  #move(at: number, length: number): void {
    if (!this.isReused || this.#room.length < length) this.#room = Buffer.allocUnsafeSlow(length);
    let read = 0;
    for (let more = -1; more !== 0 && read < length; read += more) more = readSync(this.file, this.#room, read, length - read, at + read);
    this.#at = at;
    this.#bytes = this.#room.subarray(0, read);
  }
}
