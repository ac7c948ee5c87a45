const none = new Float64Array(0);
const leastRoom = 64;
/** More room than this is given back once it is empty. */
const mostKept = 8 * 1024;

/** A queue of ascending offsets, in memory that is used again. */
export class Offsets {
  #items = none;
  #start = 0;
  #end = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  /** The least of them; Infinity where there is none. */
  get first(): number {
    return this.length > 0 ? this.#items[this.#start]! : Infinity;
  }

  /** @param offset greater than all that are here. */
  push(offset: number): void {
    if (this.#end === this.#items.length) this.#makeRoom();
    this.#items[this.#end++] = offset;
  }

  /** Drops those that are less than `offset`. */
  dropBefore(offset: number): void {
    while (this.#start < this.#end && this.#items[this.#start]! < offset) this.#start++;
    if (this.#start < this.#end) return;
    this.#start = this.#end = 0;
    if (this.#items.length > mostKept) this.#items = none;
  }

  #makeRoom(): void {
    const { length } = this;
    const left = this.#items.subarray(this.#start, this.#end);
    if (2 * length > this.#items.length || this.#items.length === 0) this.#items = new Float64Array(Math.max(leastRoom, 2 * length));
    this.#items.set(left);
    this.#start = 0;
    this.#end = length;
  }
}
