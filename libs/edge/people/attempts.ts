import { hash } from 'node:crypto';

/** Names that are counted; of more, those are forgotten that began first. */
const maxCounted = 30_000;

interface Count {
  readonly untilMs: number;
  count: number;
}

/**
 * Counts what was tried, by name, for a while after the first time. A look counts nothing and remembers no name: who is refused by what one
 * table says has others forgotten in none.
 */
export class Attempts {
  /** By digest: a name may be as long as whoever sends it likes. */
  readonly #counts = new Map<string, Count>();

  constructor(
    private readonly windowMs: number,
    private readonly clock: () => number,
  ) {}

  /** How often it was tried. */
  count(name: string): number {
    return this.#find(keyOf(name))?.count ?? 0;
  }

  /** Counts it once more. Returns what takes some of it back. */
  add(name: string): Pick<Count, 'count'> {
    const key = keyOf(name);
    const count = this.#find(key) ?? this.#begin(key);
    count.count++;
    return count;
  }

  /** Seconds until the count is forgotten, at least one. */
  secondsLeft(name: string): number {
    const { untilMs = 0 } = this.#find(keyOf(name)) ?? {};
    return Math.max(1, Math.ceil((untilMs - this.clock()) / 1000));
  }

  #find(key: string): Count | undefined {
    const known = this.#counts.get(key);
    return known && known.untilMs > this.clock() ? known : undefined;
  }

  #begin(key: string): Count {
    this.#counts.delete(key);
    if (this.#counts.size >= maxCounted) this.#counts.delete(this.#counts.keys().next().value!);
    const fresh = { untilMs: this.clock() + this.windowMs, count: 0 };
    this.#counts.set(key, fresh);
    return fresh;
  }
}

const keyOf = (name: string): string => hash('sha256', name, 'base64').slice(0, 22);
