/** Windows of one size, by the number of their series and their start. */
export class WindowSet {
  size = 0;
  readonly #starts = new Map<number, Set<number>>();

  has(series: number, startMs: number): boolean {
    return this.#starts.get(series)?.has(startMs) ?? false;
  }

  add(series: number, startMs: number): void {
    let starts = this.#starts.get(series);
    if (!starts) this.#starts.set(series, (starts = new Set()));
    const before = starts.size;
    starts.add(startMs);
    this.size += starts.size - before;
  }

  addAll(other: WindowSet): void {
    for (const [series, starts] of other.bySeries()) for (const startMs of starts) this.add(series, startMs);
  }

  /** The windows of this set that begin at or after a time. */
  since(fromMs: number): WindowSet {
    const rest = new WindowSet();
    for (const [series, starts] of this.#starts) for (const startMs of starts) if (startMs >= fromMs) rest.add(series, startMs);
    return rest;
  }

  /** The windows of this set that are not in the other one. */
  without(other: WindowSet): WindowSet {
    const rest = new WindowSet();
    for (const [series, starts] of this.#starts) for (const startMs of starts) if (!other.has(series, startMs)) rest.add(series, startMs);
    return rest;
  }

  bySeries(): Iterable<readonly [series: number, starts: ReadonlySet<number>]> {
    return this.#starts;
  }
}
