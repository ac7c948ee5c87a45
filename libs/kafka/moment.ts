/**
 * A moment that is over, and how long. The monotonic clock stands still with a suspended machine and the wall clock may be put back: that
 * one counts which says that more time has gone by.
 */
export class Moment {
  readonly #wallMs: number;

  /** @param monotonicMs now, or a moment ago, by the monotonic clock. */
  constructor(readonly monotonicMs = performance.now()) {
    this.#wallMs = Date.now() - (performance.now() - monotonicMs);
  }

  agoMs(): number {
    return Math.max(performance.now() - this.monotonicMs, Date.now() - this.#wallMs);
  }
}
