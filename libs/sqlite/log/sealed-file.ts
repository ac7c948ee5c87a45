import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { basename } from 'node:path';
import { crc32, zstdDecompressSync } from 'node:zlib';
import { batchesIn, type Batch, type Kind } from './batch.js';
import { damaged } from './fault.js';
import type { Change } from './log-state.js';
import { Summary, type Segment, type Wanted } from './segment.js';

/** At the front and at the end of each sealed file. */
export const sealedMark = 'HWSEAL1\n';
/** At the end, before the mark: length and checksum of the table of contents. */
export const trailerBytes = 8 + sealedMark.length;

/** Batches of one kind, compressed together. */
export interface Block {
  readonly kind: Kind;
  readonly at: number;
  readonly bytes: number;
  readonly crc: number;
  readonly first: number;
  readonly end: number;
  readonly ms: readonly [least: number, greatest: number];
  readonly topics: readonly string[];
}

/** What a sealed file has, as JSON behind its blocks. */
export interface Contents {
  readonly first: number;
  readonly end: number;
  /** What its batches take when they are not compressed, by kind. */
  readonly bytes: Readonly<Record<Kind, number>>;
  /** Those of one kind are in the order of their offsets. */
  readonly blocks: readonly Block[];
  /** The change that makes the state of the log at its end of an empty one; undefined when the next segment begins with it. */
  readonly state?: Change;
}

/** A segment that does not change any more. */
export class SealedFile implements Segment {
  constructor(
    readonly path: string,
    readonly first: number,
  ) {}

  /** Reads the table of contents. Throws `log_corrupt`. */
  contents(): Contents {
    return this.#with((file) => this.#contents(file));
  }

  *pieces(wanted: Wanted): Generator<readonly Batch[]> {
    const file = openSync(this.path, 'r');
    try {
      const contents = this.#contents(file);
      if (contents.end < wanted.to) throw this.#damaged(`it ends at offset ${contents.end} and should have all before ${wanted.to}`);
      for (const block of contents.blocks) {
        const { kind, first, end, ms, topics } = block;
        if ((wanted.kind ?? kind) !== kind || !new Summary(first, end, [...ms], new Set(topics)).mayHave(wanted)) continue;
        yield [...batchesIn(this.#read(file, block))].filter((batch) => batch.first < wanted.to);
      }
    } finally {
      closeSync(file);
    }
  }

  #with<T>(work: (file: number) => T): T {
    const file = openSync(this.path, 'r');
    try {
      return work(file);
    } finally {
      closeSync(file);
    }
  }

  #contents(file: number): Contents {
    const { size } = fstatSync(file);
    const trailer = bytesAt(file, size - trailerBytes, trailerBytes);
    if (trailer?.toString('latin1', 8) !== sealedMark) throw this.#damaged('its end is missing');
    const length = trailer.readUInt32LE(0);
    const packed = bytesAt(file, size - trailerBytes - length, length);
    if (!packed || crc32(packed) !== trailer.readUInt32LE(4)) throw this.#damaged('its table of contents fails its checksum');
    const contents = JSON.parse(zstdDecompressSync(packed).toString()) as Contents;
    if (contents.first !== this.first) throw this.#damaged(`it begins at offset ${contents.first}`);
    return contents;
  }

  #read(file: number, { at, bytes, crc, first, end }: Block): Buffer {
    const packed = bytesAt(file, at, bytes);
    if (!packed || crc32(packed) !== crc) throw this.#damaged(`the block with offsets from ${first} to ${end - 1} fails its checksum`);
    return zstdDecompressSync(packed);
  }

  #damaged(how: string): Error {
    return damaged(`${basename(this.path)}: ${how}`);
  }
}

/** Undefined when the file ends before them. */
function bytesAt(file: number, at: number, length: number): Buffer | undefined {
  if (at < 0) return undefined;
  const bytes = Buffer.allocUnsafe(length);
  return readSync(file, bytes, 0, length, at) === length ? bytes : undefined;
}
