import type { Asker } from './asker.js';
import { pause, reasonOf } from './trouble.js';

const beatMs = 2_000;
const patienceMs = 10_000;

/** Asks Kafka every few seconds for a sign of life. */
export class Pulse {
  readonly #stopping = new AbortController();
  #heardMs = performance.now();
  #reason = 'no answer';

  constructor(private readonly asker: Asker) {
    void this.#beat();
  }

  health(): string | undefined {
    const ageMs = performance.now() - this.#heardMs;
    return ageMs > patienceMs ? `Kafka has not been heard for ${Math.round(ageMs / 1000)} s: ${this.#reason}` : undefined;
  }

  stop(): void {
    this.#stopping.abort();
  }

  async #beat(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.asker.ask((admin) => admin.describeCluster());
        this.#heardMs = performance.now();
      } catch (error) {
        this.#reason = reasonOf(error);
      }
      await pause(beatMs, signal);
    }
  }
}
