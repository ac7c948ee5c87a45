const leastRoom = 256;

/** A list of integers of 32 bits in memory that is used again: an array that is filled anew each time leaves twice its size as garbage. */
export class NumberList {
  #items = new Uint32Array(leastRoom);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  get last(): number | undefined {
    return this.at(this.#length - 1);
  }

  /** All of them, valid until the next change. */
  get all(): Uint32Array {
    return this.#items.subarray(0, this.#length);
  }

  at(position: number): number | undefined {
    return position < this.#length ? this.#items[position] : undefined;
  }

  push(number: number): void {
    if (this.#length === this.#items.length) {
      const grown = new Uint32Array(2 * this.#length);
      grown.set(this.#items);
      this.#items = grown;
    }
    this.#items[this.#length++] = number;
  }

  clear(): void {
    this.#length = 0;
  }
}
