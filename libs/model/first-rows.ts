/** The `nth` smallest (from 0) of the first `length` values, which it reorders. */
export function nthSmallest(values: Float64Array, length: number, nth: number): number {
  let low = 0;
  let high = length - 1;
  while (low < high) {
    const pivot = values[(low + high) >>> 1]!;
    let left = low;
    let right = high;
    while (left <= right) {
      while (values[left]! < pivot) left++;
      while (values[right]! > pivot) right--;
      if (left > right) break;
      const held = values[left]!;
      values[left++] = values[right]!;
      values[right--] = held;
    }
    if (nth <= right) high = right;
    else if (nth >= left) low = left;
    else return pivot;
  }
  return values[nth]!;
}

/** Copies values [from, to), also down within one column; of a few at a time this takes a tenth of the time of `set` and `subarray`. */
function copy(values: Float64Array, from: number, to: number, into: Float64Array, at: number): void {
  for (let offset = at - from, each = from; each < to; each++) into[offset + each] = values[each]!;
}

/** Rows of several series side by side: series `i` has `counts[i]` rows, after those of the series before it. */
export interface SelectedRows {
  readonly counts: Uint32Array;
  /** The time first, then the others. */
  readonly columns: readonly Float64Array[];
  /** True exactly when rows were left out. */
  readonly truncated: boolean;
}

/** The memory of so many rows is kept for the next query. */
const maxKeptRows = 128 * 1024;

/**
 * Keeps the first `limit` of all rows, ordered by time, then by series number, then as they came. Rows come series by series, ascending in
 * time, and it holds only a few times as many as it keeps.
 */
export class FirstRows {
  /** Rows with a later time are not among the first, so callers need not add them. */
  lastMs = Infinity;
  #columns: Float64Array[];
  #length = 0;
  #limit = 0;
  #pruneAt = 0;
  /** Where the rows of each series begin and end. */
  #from = new Uint32Array(0);
  #to = new Uint32Array(0);
  /** The series in the order in which their rows were added, and how many there are. */
  #came = new Uint32Array(0);
  #comers = 0;
  /** The series of which a row was dropped: its later rows are dropped too. */
  #cutOff = -1;

  /** @param width columns of a row, the time included. */
  constructor(private readonly width: number) {
    this.#columns = this.#allocate(1024);
  }

  /** Forgets all rows and begins a new selection of the first `limit` rows. Memory is used again unless it is very large. */
  begin(limit: number, seriesCount: number): this {
    this.lastMs = Infinity;
    this.#length = 0;
    this.#limit = limit;
    this.#pruneAt = 4 * limit + 1024;
    if (this.#columns[0]!.length > maxKeptRows) this.#columns = this.#allocate(1024);
    this.#from = new Uint32Array(seriesCount);
    this.#to = new Uint32Array(seriesCount);
    this.#came = new Uint32Array(seriesCount);
    this.#comers = 0;
    this.#cutOff = -1;
    return this;
  }

  /** Adds rows [from, to) of parallel columns, the time first. */
  add(series: number, columns: readonly Float64Array[], from: number, to: number): void {
    const timeMs = columns[0]!;
    let end = to;
    while (end > from && timeMs[end - 1]! > this.lastMs) end--;
    if (end === from || series === this.#cutOff) return;
    this.#reserve(end - from);
    for (let at = 0; at < columns.length; at++) copy(columns[at]!, from, end, this.#columns[at]!, this.#length);
    if (this.#comers === 0 || this.#came[this.#comers - 1] !== series) {
      this.#came[this.#comers++] = series;
      this.#from[series] = this.#length;
    }
    this.#length += end - from;
    this.#to[series] = this.#length;
    if (this.#length >= this.#pruneAt) this.#prune();
  }

  finish(): SelectedRows {
    const truncated = this.#length > this.#limit;
    if (truncated) this.#cut(this.#limit);
    const counts = this.#to.map((to, series) => to - this.#from[series]!);
    const columns = this.#columns.map((column) => this.#gathered(column, Math.min(this.#length, this.#limit)));
    return { counts, columns, truncated };
  }

  /** A column's rows, series by series. */
  #gathered(column: Float64Array, rows: number): Float64Array {
    const all = new Float64Array(rows);
    let at = 0;
    for (let series = 0; series < this.#from.length; series++) {
      copy(column, this.#from[series]!, this.#to[series]!, all, at);
      at += this.#to[series]! - this.#from[series]!;
    }
    return all;
  }

  /**
   * Shortens the series to the first `keep` rows of all, of which there are more: what is before the last time, and of what is at that time
   * the first series. Returns the last time.
   */
  #cut(keep: number): number {
    const [from, to, timeMs] = [this.#from, this.#to, this.#columns[0]!];
    const lastMs = keep === 0 ? -Infinity : this.#nth(keep - 1);
    let left = keep;
    for (let series = 0; series < from.length; series++) {
      while (to[series]! > from[series]! && timeMs[to[series]! - 1]! > lastMs) to[series]!--;
      left -= to[series]! - from[series]!;
    }
    for (let series = from.length - 1; left < 0; series--) {
      for (; left < 0 && to[series]! > from[series]! && timeMs[to[series]! - 1] === lastMs; left++) to[series]!--;
    }
    return lastMs;
  }

  /** Keeps one row more than the limit: enough to know that rows were left out. */
  #prune(): void {
    const coming = this.#came[this.#comers - 1]!;
    const end = this.#to[coming]!;
    this.lastMs = this.#cut(this.#limit + 1);
    if (this.#to[coming]! < end) this.#cutOff = coming;
    let length = 0;
    for (let at = 0; at < this.#comers; at++) {
      const series = this.#came[at]!;
      const from = this.#from[series]!;
      const to = this.#to[series]!;
      for (const column of this.#columns) copy(column, from, to, column, length);
      this.#from[series] = length;
      length += to - from;
      this.#to[series] = length;
    }
    this.#length = length;
  }

  #nth(nth: number): number {
    return nthSmallest(this.#columns[0]!.slice(0, this.#length), this.#length, nth);
  }

  #reserve(more: number): void {
    const needed = this.#length + more;
    if (needed <= this.#columns[0]!.length) return;
    const grown = this.#allocate(2 * needed);
    for (const [at, column] of grown.entries()) column.set(this.#columns[at]!.subarray(0, this.#length));
    this.#columns = grown;
  }

  #allocate(rows: number): Float64Array[] {
    return Array.from({ length: this.width }, () => new Float64Array(rows));
  }
}
