/** The longest that what came waits for more. */
export const tickMs = 25;
/** How long a turn of the event loop goes on with what is due. */
const maxHoldMs = 6;

/** Something that sends what has come in the meantime. */
export interface Ticking {
  /** When it was last flushed, on the monotonic clock. */
  flushedMs: number;
  flush(): void;
}

/** Flushes what was touched: at once where nothing was sent for a tick, else at the end of the tick. */
export class Ticks {
  readonly #now = new Set<Ticking>();
  readonly #later = new Set<Ticking>();

  touch(one: Ticking, isUrgent: boolean): void {
    if (this.#now.has(one)) return;
    if (isUrgent || performance.now() - one.flushedMs >= tickMs) {
      // In a later turn, so that the sender's 200 goes out before the viewers' frames.
      if (this.#now.size === 0) setImmediate(() => this.#flush(this.#now));
      this.#now.add(one);
    } else {
      if (this.#later.size === 0) setTimeout(() => this.#flush(this.#later), tickMs).unref();
      this.#later.add(one);
    }
  }

  #flush(due: Set<Ticking>): void {
    const nowMs = performance.now();
    for (const one of due) {
      due.delete(one);
      one.flushedMs = nowMs;
      one.flush();
      if (performance.now() > nowMs + maxHoldMs) break;
    }
    if (due.size > 0) setImmediate(() => this.#flush(due));
  }
}
