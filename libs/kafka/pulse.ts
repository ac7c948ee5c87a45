import { pause, reasonOf } from './trouble.js';

export interface PulseOptions {
  /** Who is asked, as sentences begin. */
  readonly name: string;
  /** Resolves when there was an answer. */
  readonly ask: () => Promise<unknown>;
  readonly beatMs: number;
  /** How long an answer may be missing before that is told, milliseconds. */
  readonly patienceMs: number;
}

/** Asks a server every few seconds for a sign of life. */
export class Pulse {
  readonly #stopping = new AbortController();
  #heardMs = performance.now();
  /** When the first question was asked that nobody has answered yet. */
  #askedMs: number | undefined;
  #reason = 'no answer';

  constructor(private readonly options: PulseOptions) {
    void this.#beat();
  }

  health(): string | undefined {
    const { name, patienceMs } = this.options;
    const nowMs = performance.now();
    if (this.#askedMs === undefined || nowMs - this.#askedMs < patienceMs) return undefined;
    return `${name} has not been heard for ${Math.round((nowMs - this.#heardMs) / 1000)} s: ${this.#reason}`;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stopping;
    const { ask, beatMs } = this.options;
    while (!signal.aborted) {
      this.#askedMs ??= performance.now();
      try {
        await ask();
        this.#heardMs = performance.now();
        this.#askedMs = undefined;
      } catch (error) {
        this.#reason = reasonOf(error);
      }
      await pause(beatMs, signal);
    }
  }
}
