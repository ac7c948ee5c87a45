import type { StreamRecord } from '#log';

/** What it holds at most; readers that are further behind read from the file. */
const maxBytes = 16 << 20;

/** Memory that a record takes beside its value. */
const overheadBytes = 200;

/** The newest records, with the very values that were appended, for consumers that keep up. */
export class Tail {
  #records: StreamRecord[] = [];
  /** Index of the oldest record that is not dropped. */
  #start = 0;
  #bytes = 0;
  #from: number;

  constructor(head: number) {
    this.#from = head;
  }

  /** It holds every record from this offset on. */
  get from(): number {
    return this.#from;
  }

  /** Takes the records that follow those it holds. */
  push(records: readonly StreamRecord[]): void {
    for (const record of records) {
      this.#records.push(record);
      this.#bytes += record.bytes + overheadBytes;
    }
    while (this.#bytes > maxBytes) this.#drop();
  }

  /** Lets go of everything before an offset. */
  trim(offset: number): void {
    while (this.#start < this.#records.length && this.#records[this.#start]!.offset < offset) this.#drop();
    this.#from = Math.max(this.#from, offset);
  }

  /** Gives the records that it holds from an offset on, in order, until `take` answers false. */
  each(offset: number, take: (record: StreamRecord) => boolean): void {
    for (let at = this.#indexOf(offset); at < this.#records.length; at++) if (!take(this.#records[at]!)) return;
  }

  #drop(): void {
    const { offset, bytes } = this.#records[this.#start++]!;
    this.#bytes -= bytes + overheadBytes;
    this.#from = offset + 1;
    // Moving the others each time would take longer than the memory is worth.
    if (2 * this.#start < this.#records.length) return;
    this.#records = this.#records.slice(this.#start);
    this.#start = 0;
  }

  #indexOf(offset: number): number {
    let [low, high] = [this.#start, this.#records.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#records[middle]!.offset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
