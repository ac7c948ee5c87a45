import { Injectable } from '@nestjs/common';
import { FairQueue } from '#model';

/**
 * How long the first steps and the slices of one turn of the event loop may hold it, with all else that is done between them. One slice should take
 * a millisecond or two.
 */
const maxHoldMs = 6;

/** How long slices go on in a turn in which all else took that long. */
const minHoldMs = 2;

/**
 * Long work on the event loop, such as reading an unusual body or writing a long answer, cut into slices: between them everything else goes
 * on, and the organizations take turns.
 */
@Injectable()
export class Slices {
  readonly #waiting = new FairQueue<() => void>();
  #isScheduled = false;
  #scheduledMs = 0;

  /** Calls `slice`, which must not throw, in a later turn of the event loop. */
  add(orgId: string, slice: () => void): void {
    this.#waiting.add(orgId, slice);
    this.#schedule();
  }

  /**
   * Takes steps until the work is done. The first is taken at once, and where it is the only one its result is answered without a promise, because
   * that is how most work goes. Only when much work has begun in this turn of the event loop does the first step wait too. Throws or rejects as
   * the work throws.
   */
  finish<T>(orgId: string, work: Iterator<unknown, T>): T | Promise<T> {
    if (this.#isScheduled && performance.now() > this.#scheduledMs + maxHoldMs) return this.#rest(orgId, work);
    const first = work.next();
    return first.done ? first.value : this.#rest(orgId, work);
  }

  #rest<T>(orgId: string, work: Iterator<unknown, T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const slice = (): void => {
        try {
          const step = work.next();
          if (step.done) resolve(step.value);
          else this.add(orgId, slice);
        } catch (error) {
          reject(error);
        }
      };
      this.add(orgId, slice);
    });
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#scheduledMs = performance.now();
    setImmediate(() => void this.#work());
  }

  async #work(): Promise<void> {
    const endMs = Math.max(this.#scheduledMs + maxHoldMs, performance.now() + minHoldMs);
    do {
      this.#waiting.take()?.();
      // Lets the caller of finished work continue now, so that the time it takes counts towards `maxHoldMs` too.
      await Promise.resolve();
    } while (!this.#waiting.isEmpty && performance.now() < endMs);
    this.#isScheduled = false;
    if (!this.#waiting.isEmpty) this.#schedule();
  }
}
