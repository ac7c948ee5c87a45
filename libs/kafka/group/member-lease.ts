import type { Lease } from '#model';
import { Moment } from '../moment.js';

/** The lease of one assignment: lost when the group says so, or when the group was not heard for too long to be sure. */
export class MemberLease implements Lease {
  #heard: Moment;
  #isLost = false;

  /**
   * @param heardMs when the message was sent whose answer brought the assignment, by the monotonic clock.
   * @param patienceMs half of what the group waits for a member: others get nothing of ours before twice that time.
   */
  constructor(
    heardMs: number,
    private readonly patienceMs: number,
  ) {
    this.#heard = new Moment(heardMs);
  }

  held(): boolean {
    if (this.#heard.agoMs() > this.patienceMs) this.#isLost = true;
    return !this.#isLost;
  }

  /** The group has answered to what was sent at that time. */
  heard(sentMs: number): void {
    if (sentMs > this.#heard.monotonicMs) this.#heard = new Moment(sentMs);
  }

  lose(): void {
    this.#isLost = true;
  }
}
