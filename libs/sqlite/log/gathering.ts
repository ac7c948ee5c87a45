import { setImmediate } from 'node:timers/promises';

const maxWaitMs = 2;
const maxSkips = 64;

/**
 * How long a commit waits for more appends that it can take along: while each turn of the event loop brings some, and then for the callers whom the
 * last commit has answered. Whoever sends body after body appends again as soon as it has its answer; without the wait such callers
 * fall into two halves that are written in turn, with twice the commits. Where they do not all come back in 2 ms, the next 1, 2, 4 … 64 commits do not
 * wait for them.
 */
export class Gathering {
  #waiting = 0;
  #wanted = 0;
  #resolve: ((areBack: boolean) => void) | undefined;
  /** One timer serves all commits: a timer for each of them costs more than the rest of this class. */
  readonly #timer = setTimeout(() => this.#resolve?.(false), maxWaitMs);
  /** Commits that will not wait for callers. */
  #skips = 0;
  #skipsNext = 1;

  /** Counts one append that waits for a commit. */
  add(): void {
    this.#waiting++;
    if (this.#waiting >= this.#wanted) this.#resolve?.(true);
  }

  /** Counts appends that are answered, and resolves when it is time for the next commit, should there be anything to write by then. */
  async answered(appends: number): Promise<void> {
    this.#wanted = this.#waiting;
    this.#waiting -= appends;
    await this.#turns();
    if (this.#waiting >= this.#wanted || this.#skips-- > 0) return;
    const areBack = await this.#callers();
    this.#skips = areBack ? 0 : this.#skipsNext;
    this.#skipsNext = areBack ? 1 : Math.min(2 * this.#skipsNext, maxSkips);
    await setImmediate();
  }

  /** Turns of the event loop, to the first that brings nothing. */
  async #turns(): Promise<void> {
    for (let before = -1; before < this.#waiting;) {
      before = this.#waiting;
      await setImmediate();
    }
  }

  /** Resolves with whether they came in time. */
  async #callers(): Promise<boolean> {
    const areBack = await new Promise<boolean>((resolve) => {
      this.#resolve = resolve;
      this.#timer.refresh();
    });
    this.#resolve = undefined;
    return areBack;
  }
}
