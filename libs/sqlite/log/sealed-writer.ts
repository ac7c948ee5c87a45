import { closeSync, openSync, renameSync, rmSync, writeSync, fsyncSync } from 'node:fs';
import { dirname } from 'node:path';
import { crc32, zstdCompressSync } from 'node:zlib';
import { ownerOnly, sync } from '../durable-file.js';
import { pack } from '../packing.js';
import { batchHeadBytes, type Batch, type Kind, writeBatchHead } from './batch.js';
import type { Change } from './log-state.js';
import { sealedMark, type Block, type Contents } from './sealed-file.js';
import { Summary } from './segment.js';

/** What a block takes before it is compressed: a reader that wants one of its records reads all of it. */
const blockBytes = 1 << 20;

/** The batches that become the next block of a kind, in memory that the blocks after it use again. */
class Pending {
  summary = new Summary();
  bytes = 0;
  #room = Buffer.of();

  get block(): Buffer {
    return this.#room.subarray(0, this.bytes);
  }

  add(batch: Batch): void {
    this.summary.add(batch);
    const { frames } = batch;
    const end = this.bytes + batchHeadBytes + frames.length;
    if (end > this.#room.length) this.#grow(Math.max(end, 2 * this.#room.length));
    this.#room.set(frames, writeBatchHead(this.#room, this.bytes, batch, frames.length));
    this.bytes = end;
  }

  clear(): void {
    this.summary = new Summary();
    this.bytes = 0;
  }

  #grow(bytes: number): void {
    const room = Buffer.allocUnsafeSlow(bytes);
    room.set(this.block);
    this.#room = room;
  }
}

/** Writes a sealed file under a name of its own, and gives it its name once it is durable: a file of that name is whole. */
export class SealedWriter implements Disposable {
  readonly #file: number;
  readonly #unfinished: string;
  readonly #blocks: Block[] = [];
  readonly #bytes: Record<Kind, number> = { kept: 0, compacted: 0 };
  readonly #pending: Record<Kind, Pending> = { kept: new Pending(), compacted: new Pending() };
  #at = 0;
  #isFinished = false;

  constructor(private readonly path: string) {
    this.#unfinished = path + unfinished;
    this.#file = openSync(this.#unfinished, 'w', ownerOnly);
    try {
      this.#write(Buffer.from(sealedMark));
    } catch (cause) {
      this[Symbol.dispose]();
      throw cause;
    }
  }

  /** What was added, before compression. */
  get bytes(): number {
    return (['kept', 'compacted'] as const).reduce((sum, kind) => sum + this.#bytes[kind] + this.#pending[kind].bytes, 0);
  }

  /** Adds a batch that follows those of its kind. True when a block was written, which takes some milliseconds. */
  add(batch: Batch): boolean {
    const pending = this.#pending[batch.kind];
    pending.add(batch);
    if (pending.bytes < blockBytes) return false;
    this.#writeBlock(batch.kind);
    return true;
  }

  /** @param state of the log at `end`, when no other file has it. */
  finish(first: number, end: number, state?: Change): void {
    for (const kind of ['kept', 'compacted'] as const) if (this.#pending[kind].bytes > 0) this.#writeBlock(kind);
    const blocks = this.#blocks.toSorted((a, b) => a.first - b.first);
    const contents: Contents = { first, end, bytes: this.#bytes, blocks, ...(state && { state }) };
    const packed = zstdCompressSync(Buffer.from(JSON.stringify(contents)));
    this.#write(packed);
    const sizes = Buffer.alloc(8);
    sizes.writeUInt32LE(packed.length, 0);
    sizes.writeUInt32LE(crc32(packed), 4);
    this.#write(Buffer.concat([sizes, Buffer.from(sealedMark)]));
    fsyncSync(this.#file);
    closeSync(this.#file);
    this.#isFinished = true;
    renameSync(this.#unfinished, this.path);
    sync(dirname(this.path));
  }

  /** Nothing stays of a file that was not finished. */
  [Symbol.dispose](): void {
    if (this.#isFinished) return;
    closeSync(this.#file);
    rmSync(this.#unfinished);
  }

  #writeBlock(kind: Kind): void {
    const pending = this.#pending[kind];
    pack(pending.block, (packed) => {
      const { first, end, ms, topics } = pending.summary;
      this.#blocks.push({ kind, at: this.#at, bytes: packed.length, crc: crc32(packed), first, end, ms, topics: [...topics] });
      this.#write(packed);
    });
    this.#bytes[kind] += pending.bytes;
    pending.clear();
  }

  #write(bytes: Uint8Array): void {
    for (let written = 0; written < bytes.length;)
      written += writeSync(this.#file, bytes, written, bytes.length - written, this.#at + written);
    this.#at += bytes.length;
  }
}

/** The end of the name of a file that is not whole yet. */
export const unfinished = '.new';
