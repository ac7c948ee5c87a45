import { closeSync, constants, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { ownerOnly } from '../durable-file.js';
import { rowChecksum } from '../checksum.js';

/** The file beside the log that a witness writes, as sentences name it. */
export const witnessFileName = 'log.head';

const none = new Uint8Array();

/**
 * Remembers in a file of its own how far the log was durable. It is written after each commit and never synced, so it may lag behind the
 * log but never runs ahead: a log that ends before it has lost records that were acknowledged.
 */
export class Witness {
  readonly #row = new Float64Array(2);
  #file: number | undefined;

  constructor(private readonly path: string) {}

  /** The least head that the log must have; undefined when the file is missing or damaged, so that nobody knows. */
  head(): number | undefined {
    if (!existsSync(this.path)) return undefined;
    const bytes = readFileSync(this.path);
    if (bytes.length < this.#row.byteLength) return undefined;
    const [head, sum] = [bytes.readDoubleLE(0), bytes.readDoubleLE(8)];
    return sum === rowChecksum(none, head) ? head : undefined;
  }

  /** Never fails: what it could not write it may also have been too late for. */
  saw(head: number): void {
    this.#row.set([head, rowChecksum(none, head)]);
    try {
      // Never emptied: until it is written again it says what it said.
      this.#file ??= openSync(this.path, constants.O_WRONLY | constants.O_CREAT, ownerOnly);
      writeSync(this.#file, this.#row, 0, this.#row.byteLength, 0);
    } catch {
      // It stays behind until the next commit.
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
