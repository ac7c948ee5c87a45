const roomLength = 8 * 1024;

/** Memory for the columns of many runs: a buffer for each column would weigh more than the few numbers that most of them have. */
export class ColumnRoom {
  #length = roomLength;
  #room = new ArrayBuffer(8 * roomLength);
  #taken = 0;

  /** Zeros that nobody else gets. */
  column(length: number): Float64Array {
    if (this.#taken + length > this.#length) {
      this.#length = Math.max(roomLength, length);
      this.#room = new ArrayBuffer(8 * this.#length);
      this.#taken = 0;
    }
    const start = this.#taken;
    this.#taken += length;
    return new Float64Array(this.#room, 8 * start, length);
  }
}
