import { claimPollMs, maxClaims, TelemetryError } from '#model';

/** A poll that comes this much early is let through: clocks and networks are not exact. */
const earlyMs = 500;

/** Keeps those who poll a claim to their interval, each replica for itself. */
export class PollPace {
  /** By claim; the one that was polled longest ago stands first. */
  readonly #polledMs = new Map<string, number>();

  /** @param nowMs by a monotonic clock. @throws TelemetryError `over_rate`. */
  check(claimId: string, nowMs: number): void {
    const waitMs = (this.#polledMs.get(claimId) ?? -Infinity) + claimPollMs - nowMs;
    if (waitMs > earlyMs) {
      const retryAfterS = Math.ceil(waitMs / 1000);
      throw new TelemetryError('over_rate', `Poll every ${claimPollMs / 1000} seconds: go on in ${retryAfterS} seconds.`, { retryAfterS });
    }
    this.#polledMs.delete(claimId);
    this.#polledMs.set(claimId, nowMs);
    if (this.#polledMs.size > maxClaims) this.#polledMs.delete(this.#polledMs.keys().next().value!);
  }
}
