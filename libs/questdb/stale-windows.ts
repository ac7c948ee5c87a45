/** Windows by series and start. */
export class StaleWindows {
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

  addAll(other: StaleWindows): void {
    for (const [series, starts] of other.bySeries()) for (const startMs of starts) this.add(series, startMs);
  }

  /** Those that are not among the others. */
  without(others: StaleWindows): StaleWindows {
    const rest = new StaleWindows();
    for (const [series, starts] of this.#starts) for (const startMs of starts) if (!others.has(series, startMs)) rest.add(series, startMs);
    return rest;
  }

  bySeries(): Iterable<readonly [series: number, starts: ReadonlySet<number>]> {
    return this.#starts;
  }
}
