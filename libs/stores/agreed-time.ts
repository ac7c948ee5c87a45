/**
 * Records must come for so long before a boundary moves to what the first of them said: a clock that is wrong for less takes nothing away. That
 * clock is the server's, of which the records tell: those of devices count for nothing, and a log that is read again says the same.
 */
const agreedMs = 3_600_000;

/** The time by which records say what is kept. */
export class AgreedTime {
  #sinceMs: number | undefined;

  /**
   * The time that records agree on, once one was received at this time; undefined while they do not.
   * @param moves whether a boundary would move by this time.
   */
  after(receivedMs: number, moves: boolean): number | undefined {
    if (!moves) this.#sinceMs = undefined;
    else if (this.#sinceMs === undefined || receivedMs < this.#sinceMs) this.#sinceMs = receivedMs;
    else if (receivedMs >= this.#sinceMs + agreedMs) return this.#sinceMs;
    return undefined;
  }

  /** The boundary has moved: records agree anew. */
  restart(): void {
    this.#sinceMs = undefined;
  }
}
