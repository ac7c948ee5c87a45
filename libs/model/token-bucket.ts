/** A bucket holds what its rate brings in so many seconds: as much may come at once after a pause. */
const burstS = 10;

/**
 * A token bucket that is charged for what was let in, in full, once its size is known. What is left may become a debt, which the rate pays off
 * before anything else is let in. So a body that is larger than the bucket is let in once, rather than never.
 */
export class TokenBucket {
  #tokens: number;

  /** A full one. @param perS the rate, tokens a second, above 0. */
  constructor(
    private readonly perS: number,
    private atMs: number,
  ) {
    this.#tokens = burstS * perS;
  }

  /** Milliseconds until something may come again; 0 when it may come now. */
  waitMs(nowMs: number): number {
    // A clock that was set back pays nothing off.
    const passedS = Math.max(0, nowMs - this.atMs) / 1000;
    this.atMs = nowMs;
    this.#tokens = Math.min(burstS * this.perS, this.#tokens + passedS * this.perS);
    return Math.max(0, (-this.#tokens / this.perS) * 1000);
  }

  take(tokens: number): void {
    this.#tokens -= tokens;
  }
}
