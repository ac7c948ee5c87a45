/** Names that are counted; of more, those are forgotten that began first. */
const maxCounted = 30_000;

interface Count {
  readonly untilMs: number;
  count: number;
}

/** Counts what was tried, by name, for a while after the first time. */
export class Attempts {
  readonly #counts = new Map<string, Count>();

  constructor(
    private readonly windowMs: number,
    private readonly clock: () => number,
  ) {}

  of(name: string): Count {
    const known = this.#counts.get(name);
    if (known && known.untilMs > this.clock()) return known;
    this.#counts.delete(name);
    if (this.#counts.size >= maxCounted) this.#counts.delete(this.#counts.keys().next().value!);
    const fresh = { untilMs: this.clock() + this.windowMs, count: 0 };
    this.#counts.set(name, fresh);
    return fresh;
  }

  /** Seconds until a count is forgotten, at least one. */
  secondsLeft({ untilMs }: Count): number {
    return Math.max(1, Math.ceil((untilMs - this.clock()) / 1000));
  }
}
