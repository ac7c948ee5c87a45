import { TelemetryError } from '#model';

const pauseMs = 1_000;

/** While something does not answer, it is asked one thing at a time, a second after the last failure: whoever else asks is refused at once. */
export class Circuit {
  #failure: TelemetryError | undefined;
  #againMs = 0;

  /** Rejects as the question does, or as the last one that was not answered did. A refusal is an answer. */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    if (this.#failure && performance.now() < this.#againMs) throw this.#failure;
    // Until this one has an answer, nobody else asks.
    if (this.#failure) this.#againMs = Infinity;
    try {
      const answer = await question();
      this.#failure = undefined;
      return answer;
    } catch (error) {
      this.#failure = error instanceof TelemetryError && error.retryable ? error : undefined;
      this.#againMs = performance.now() + pauseMs;
      throw error;
    }
  }
}
