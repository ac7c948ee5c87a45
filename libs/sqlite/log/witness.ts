import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { rowChecksum } from './checksum.js';

const none = new Uint8Array();

/**
 * Remembers in a file of its own how far the log was durable. It is written after each commit and never synced, so it may lag behind the
 * log but never runs ahead: a log that ends before it has lost records that were acknowledged.
 */
export class Witness {
  readonly #file: number;
  readonly #row = new Float64Array(2);

  constructor(path: string) {
    this.#file = openSync(path, 'a+');
    closeSync(this.#file);
    this.#file = openSync(path, 'r+');
  }

  /** The least head that the log must have; 0 when the file is new or damaged. */
  head(): number {
    const bytes = readSync(this.#file, this.#row, 0, 16, 0);
    const [head, sum] = this.#row;
    return bytes === 16 && sum === rowChecksum(none, head!) ? head! : 0;
  }

  saw(head: number): void {
    this.#row[0] = head;
    this.#row[1] = rowChecksum(none, head);
    writeSync(this.#file, this.#row, 0, 16, 0);
  }

  close(): void {
    closeSync(this.#file);
  }
}
