import { TelemetryError } from '#model';

/** How long one waits for a store that fails before one is told. */
const patienceMs = 5000;

/** Whether one way of rows into their tables fails, since when, and why. */
export class Outage {
  #sinceMs: number | undefined;
  #cause: unknown;

  began(cause: unknown): void {
    this.#sinceMs ??= performance.now();
    this.#cause = cause;
  }

  over(): void {
    this.#sinceMs = undefined;
  }

  /** In words for the operator; undefined while writing works. */
  get reason(): string | undefined {
    if (this.#sinceMs === undefined) return undefined;
    return this.#cause instanceof Error ? this.#cause.message : String(this.#cause);
  }

  /** @throws TelemetryError `store_unavailable` once it has lasted for long. */
  check(): void {
    if (this.#sinceMs === undefined || performance.now() - this.#sinceMs < patienceMs) return;
    throw new TelemetryError('store_unavailable', 'The store takes no rows.', { cause: this.#cause, retryAfterS: 5 });
  }
}
