import { symbolsText } from './lines.js';

/** How long a source is under suspicion after a row of it was refused, and how many are at the most. */
const suspectMs = 600_000;
const maxSuspects = 1000;

/** Sources of which QuestDB has lately refused a row: which of their records had it is not known. */
export class Suspects {
  /** By the symbols of a refused row, in the order of refusal. */
  readonly #untilMs = new Map<string, number>();

  /** @param symbols of a refused row. */
  add(symbols: string): void {
    this.#untilMs.delete(symbols);
    this.#untilMs.set(symbols, performance.now() + suspectMs);
    if (this.#untilMs.size > maxSuspects) this.#untilMs.delete(this.#untilMs.keys().next().value!);
  }

  has(org: string, source: string): boolean {
    if (this.#untilMs.size === 0) return false;
    for (const [symbols, untilMs] of this.#untilMs) if (untilMs < performance.now()) this.#untilMs.delete(symbols);
    const its = `${symbolsText({ org, source })},`;
    return this.#untilMs.keys().some((symbols) => symbols.startsWith(its));
  }
}
