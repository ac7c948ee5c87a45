import { pause, reasonOf } from './trouble.js';

export interface PulseOptions {
  /** Who is asked, as sentences begin. */
  readonly name: string;
  /** Resolves when there was an answer. */
  readonly ask: () => Promise<unknown>;
  readonly beatMs: number;
  /** So long a silence is not worth telling, milliseconds. */
  readonly patienceMs: number;
}

/** Asks a server every few seconds for a sign of life. */
export class Pulse {
  readonly #stopping = new AbortController();
  #heardMs = performance.now();
  #reason = 'no answer';

  constructor(private readonly options: PulseOptions) {
    void this.#beat();
  }

  health(): string | undefined {
    const { name, patienceMs } = this.options;
    const ageMs = performance.now() - this.#heardMs;
    return ageMs > patienceMs ? `${name} has not been heard for ${Math.round(ageMs / 1000)} s: ${this.#reason}` : undefined;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stopping;
    const { ask, beatMs } = this.options;
    while (!signal.aborted) {
      try {
        await ask();
        this.#heardMs = performance.now();
      } catch (error) {
        this.#reason = reasonOf(error);
      }
      await pause(beatMs, signal);
    }
  }
}
