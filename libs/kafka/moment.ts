/**
 * A moment in the past. The monotonic clock stops while a machine is suspended, and the wall clock may be set back: the one that says that more
 * time has passed counts.
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
