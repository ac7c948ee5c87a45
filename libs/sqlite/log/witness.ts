import { closeSync, existsSync, openSync, readFileSync, writeSync } from 'node:fs';
import { rowChecksum } from './checksum.js';

const none = new Uint8Array();

/**
 * Remembers in a file of its own how far the log was durable. It is written after each commit and never synced, so it may lag behind the
 * log but never runs ahead: a log that ends before it has lost records that were acknowledged.
 */
export class Witness {
  readonly #row = new Float64Array(2);
  #file: number | undefined;

  constructor(private readonly path: string) {}

  /** The least head that the log must have; 0 when there is no such file yet or it is damaged. */
  head(): number {
    if (!existsSync(this.path)) return 0;
    const bytes = readFileSync(this.path);
    if (bytes.length !== 2 * 8) return 0;
    const [head, sum] = [bytes.readDoubleLE(0), bytes.readDoubleLE(8)];
    return sum === rowChecksum(none, head) ? head : 0;
  }

  /** Never fails: what it could not write it may also have been too late for. */
  saw(head: number): void {
    this.#row.set([head, rowChecksum(none, head)]);
    try {
      this.#file ??= openSync(this.path, 'w');
      writeSync(this.#file, this.#row, 0, this.#row.byteLength, 0);
    } catch {
      // It stays behind until the next commit.
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
  }
}
