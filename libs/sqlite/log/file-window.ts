import { fstatSync, readSync } from 'node:fs';

const windowBytes = 1 << 20;

/** Reads a file, mostly from front to back, with few calls of the system. */
export class FileWindow {
  readonly #size: number;
  #bytes = Buffer.of();
  #at = 0;

  constructor(private readonly file: number) {
    this.#size = fstatSync(file).size;
  }

  /** Some bytes from a place on, as a view that stays as it is; undefined when the file was shorter than that when this window was made. */
  read(at: number, length: number): Buffer | undefined {
    if (at + length > this.#size) return undefined;
    if (at < this.#at || at + length > this.#at + this.#bytes.length)
      this.#move(at, Math.min(Math.max(length, windowBytes), this.#size - at));
    const from = at - this.#at;
    return from + length <= this.#bytes.length ? this.#bytes.subarray(from, from + length) : undefined;
  }

  #move(at: number, length: number): void {
    const bytes = Buffer.allocUnsafeSlow(length);
    let read = 0;
    for (let more = -1; more !== 0 && read < length; read += more) more = readSync(this.file, bytes, read, length - read, at + read);
    this.#at = at;
    this.#bytes = bytes.subarray(0, read);
  }
}
