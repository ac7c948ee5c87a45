import type { Lease } from '#model';

/** The lease of one assignment: lost when the group says so, or when the group was not heard for too long to be sure. */
export class MemberLease implements Lease {
  #heardMs: number;
  #isLost = false;

  /**
   * @param heardMs when the message was sent whose answer brought the assignment, by the monotonic clock.
   * @param patienceMs half of what the group waits for a member: others get nothing of ours before twice that time.
   */
  constructor(
    heardMs: number,
    private readonly patienceMs: number,
  ) {
    this.#heardMs = heardMs;
  }

  held(): boolean {
    if (performance.now() - this.#heardMs > this.patienceMs) this.#isLost = true;
    return !this.#isLost;
  }

  /** The group has answered to what was sent at that time. */
  heard(sentMs: number): void {
    this.#heardMs = Math.max(this.#heardMs, sentMs);
  }

  lose(): void {
    this.#isLost = true;
  }
}
