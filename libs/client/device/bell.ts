const longestTimerMs = 2 ** 31 - 1;

/** A timer that does not keep the process alive, where there are processes. */
export function timer(ms: number, done: () => void): ReturnType<typeof setTimeout> {
  const started = setTimeout(done, Math.min(ms, longestTimerMs));
  (started as { unref?: () => void }).unref?.();
  return started;
}

/** Lets one loop sleep until somebody rings. */
export class Bell {
  #rang = false;
  #wake: (() => void) | undefined;

  ring(): void {
    this.#rang = true;
    this.#wake?.();
  }

  /** Resolves when the bell rings or has rung since the last wait, or after so many milliseconds. */
  async wait(ms: number): Promise<void> {
    if (!this.#rang) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const limit = ms === Infinity ? undefined : timer(ms, resolve);
      await promise;
      clearTimeout(limit);
      this.#wake = undefined;
    }
    this.#rang = false;
  }
}
