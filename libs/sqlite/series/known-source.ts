/** With fewer metrics, looking at each name is as quick as a map and takes a fifth of the memory. */
const fewMetrics = 32;

/** A source in memory and the numbers of its series. Of one that has no series the store has nothing. */
export class KnownSource {
  /** Whether it was asked for since `Directory` last looked for what it can forget. */
  isUsed = true;
  #metrics: string[] = [];
  #series: number[] = [];
  #positions: Map<string, number> | undefined;
  #next = 0;

  /** @param id the number of the source in the store, 0 where the store has no series of this source. */
  constructor(
    public id: number,
    readonly orgId: string,
    readonly sourceId: string,
  ) {}

  get metrics(): readonly string[] {
    return this.#metrics;
  }

  /** The number of the series of a metric; undefined when the source never reported it. */
  series(metric: string): number | undefined {
    const at = this.#position(metric);
    return at < 0 ? undefined : this.#series[at];
  }

  add(metric: string, series: number): void {
    this.#positions?.set(metric, this.#metrics.length);
    // Pushing to an empty array reserves room for 17 items, and many sources have one metric.
    if (this.#metrics.length === 0) [this.#metrics, this.#series] = [[metric], [series]];
    else {
      this.#metrics.push(metric);
      this.#series.push(series);
    }
  }

  /** Gives back the room that adding has left for more: half of what is there, and 16 more. */
  compact(): void {
    this.#metrics = this.#metrics.slice();
    this.#series = this.#series.slice();
  }

  /** Returns the number that the series of a metric had, 0 when there was none. */
  remove(metric: string): number {
    const at = this.#position(metric);
    if (at < 0) return 0;
    this.#next = 0;
    this.#metrics.splice(at, 1);
    // Those behind it have moved.
    if (at < this.#metrics.length) this.#positions = undefined;
    else this.#positions?.delete(metric);
    return this.#series.splice(at, 1)[0]!;
  }

  /** Sources report their metrics in the same order again and again, so the name is mostly the one after the last. */
  #position(metric: string): number {
    if (this.#metrics[this.#next] !== metric) this.#next = this.#search(metric);
    const at = this.#next;
    this.#next = at + 1 < this.#metrics.length ? at + 1 : 0;
    return at;
  }

  #search(metric: string): number {
    if (this.#metrics.length < fewMetrics) return this.#metrics.indexOf(metric);
    this.#positions ??= new Map(this.#metrics.map((name, at) => [name, at]));
    return this.#positions.get(metric) ?? -1;
  }
}
