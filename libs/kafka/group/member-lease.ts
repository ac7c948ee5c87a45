import type { Lease } from '#model';

/**
 * The lease of one assignment: lost when the group says so, or when the group was not heard for too long to be sure. The monotonic clock
 * stands still with a suspended machine and the wall clock may be put back: that one counts which says that more time has gone by.
 */
export class MemberLease implements Lease {
  #heardMs: number;
  #heardWallMs: number;
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
    this.#heardWallMs = wallMsOf(heardMs);
  }

  held(): boolean {
    const silentMs = Math.max(performance.now() - this.#heardMs, Date.now() - this.#heardWallMs);
    if (silentMs > this.patienceMs) this.#isLost = true;
    return !this.#isLost;
  }

  /** The group has answered to what was sent at that time. */
  heard(sentMs: number): void {
    if (sentMs <= this.#heardMs) return;
    this.#heardMs = sentMs;
    this.#heardWallMs = wallMsOf(sentMs);
  }

  lose(): void {
    this.#isLost = true;
  }
}

/** A time of the monotonic clock that was a moment ago. */
const wallMsOf = (monotonicMs: number): number => Date.now() - (performance.now() - monotonicMs);
