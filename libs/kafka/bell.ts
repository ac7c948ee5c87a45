/** Wakes everybody who waits for it to ring. */
export class Bell {
  #ringing = Promise.withResolvers<void>();

  /** Resolves when it rings the next time. */
  next(): Promise<void> {
    return this.#ringing.promise;
  }

  ring(): void {
    this.#ringing.resolve();
    this.#ringing = Promise.withResolvers();
  }
}
