import type { Lease } from '#model';
import { Moment } from '../moment.js';
import { within } from '../trouble.js';

/** How long after the loss an effect may go on, and how much longer it is waited for. */
const effectMs = 2_000;
const endMs = 1_000;

/**
 * The lease of one assignment: lost when the group says so, or when the group was not heard for too long to be sure. Its member asks for
 * partitions anew only once the lease is quiet: others may get the old ones as soon as it has asked.
 */
export class MemberLease implements Lease {
  #heard: Moment;
  #isLost = false;
  #lostMs = Infinity;
  readonly #underWay = new Set<Promise<unknown>>();

  /**
   * @param heardMs when the message was sent whose answer brought the assignment, by the monotonic clock.
   * @param patienceMs half of how long the group waits for a member: other members get our partitions after twice this time at the earliest.
   */
  constructor(
    heardMs: number,
    private readonly patienceMs: number,
  ) {
    this.#heard = new Moment(heardMs);
  }

  held(): boolean {
    if (!this.#isSure()) this.lose();
    return !this.#isLost;
  }

  during<T>(effect: (goesOn: () => boolean) => Promise<T>): Promise<T> {
    const running = effect(() => this.#isSure() && performance.now() - this.#lostMs < effectMs);
    const settled: Promise<unknown> = running.then(
      () => this.#underWay.delete(settled),
      () => this.#underWay.delete(settled),
    );
    this.#underWay.add(settled);
    return running;
  }

  /** Whether every effect that began under this lease has ended, or has had all the time that it gets. */
  get isQuiet(): boolean {
    return this.#underWay.size === 0 || performance.now() - this.#lostMs > effectMs + endMs;
  }

  /** Resolves when the lease is quiet. */
  async quiet(): Promise<void> {
    await within(Math.max(0, this.#lostMs + effectMs + endMs - performance.now()), Promise.all(this.#underWay));
  }

  /** The group has answered to what was sent at that time. */
  heard(sentMs: number): void {
    if (sentMs > this.#heard.monotonicMs) this.#heard = new Moment(sentMs);
  }

  /** The member sees it at its next look, and joins the group anew. */
  giveUp(): void {
    this.lose();
  }

  lose(): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#lostMs = performance.now();
  }

  #isSure(): boolean {
    return this.#heard.agoMs() <= this.patienceMs;
  }
}
