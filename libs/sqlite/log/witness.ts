import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { ownerOnly } from '../durable-file.js';
import { rowChecksum } from '../checksum.js';

/** The name of the file, beside those of the log, that a witness writes. */
export const witnessFileName = 'head';

const none = new Uint8Array();

const rowOf = (head: number): readonly [number, number] => [head, rowChecksum(none, head)];

/** What the file holds that remembers a head. */
export const witnessBytes = (head: number): Buffer => Buffer.from(Float64Array.from(rowOf(head)).buffer);

/** Commits within this time are noted together: a write for each of them would cost as much as its CPU. */
const togetherMs = 20;

/**
 * Remembers in a file of its own how far the log was durable. It is written soon after a commit and never synced, so it may lag behind the
 * log but never runs ahead: a log that ends before it has lost records that were acknowledged.
 */
export class Witness {
  readonly #row = new Float64Array(2);
  #file: number | undefined;
  #head = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly path: string) {}

  /** The least head that the log must have; undefined when the file is missing or damaged. */
  head(): number | undefined {
    if (!existsSync(this.path)) return undefined;
    const bytes = readFileSync(this.path);
    if (bytes.length < this.#row.byteLength) return undefined;
    const [head, sum] = [bytes.readDoubleLE(0), bytes.readDoubleLE(8)];
    return sum === rowChecksum(none, head) ? head : undefined;
  }

  saw(head: number): void {
    this.#head = head;
    this.#timer ??= setTimeout(() => this.#write(), togetherMs).unref();
  }

  /** Notes what it was told last, and ends. */
  close(): void {
    if (this.#timer) this.#write();
    if (this.#file !== undefined) closeSync(this.#file);
  }

  /** Ends where it stands. */
  crash(): void {
    clearTimeout(this.#timer);
  }

  /** Never throws: failing to write a head is as harmless as a crash before writing it. */
  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#row.set(rowOf(this.#head));
    try {
      // The file is opened without truncating it, so that it keeps the last head until the next is written.
      this.#file ??= openSync(this.path, constants.O_WRONLY | constants.O_CREAT, ownerOnly);
      writeSync(this.#file, this.#row, 0, this.#row.byteLength, 0);
    } catch {
      // The file lags behind the log until the next commit.
    }
  }
}
