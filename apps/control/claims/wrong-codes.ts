import { Inject, Injectable } from '@nestjs/common';
import { Attempts, CLOCK, type Clock } from '#edge';
import { claimLifetimeMs, networkOf, TelemetryError } from '#model';

/** Wrong codes of one account for as long as a code is good. */
const maxOfAccount = 5;
/** Wrong codes from one address in a minute, whatever the account. */
const maxOfAddress = 10;
const minuteMs = 60_000;

/** Slows down who guesses the codes of other people's claims, in this process. */
@Injectable()
export class WrongCodes {
  readonly #ofAccounts: Attempts;
  readonly #ofAddresses: Attempts;

  constructor(@Inject(CLOCK) clock: Clock) {
    this.#ofAccounts = new Attempts(claimLifetimeMs, clock);
    this.#ofAddresses = new Attempts(minuteMs, clock);
  }

  /** @throws TelemetryError `too_many_wrong_codes`. */
  check(accountId: string, address = ''): void {
    const waits = [
      ...(this.#ofAccounts.count(accountId) >= maxOfAccount ? [this.#ofAccounts.secondsLeft(accountId)] : []),
      ...(this.#ofAddresses.count(networkOf(address)) >= maxOfAddress ? [this.#ofAddresses.secondsLeft(networkOf(address))] : []),
    ];
    if (waits.length === 0) return;
    const retryAfterS = Math.max(...waits);
    const detail = `There were too many wrong codes: try again in ${retryAfterS} seconds, with the code that the device or the command shows.`;
    throw new TelemetryError('too_many_wrong_codes', detail, { retryAfterS });
  }

  /** Counts a code before it is known to be wrong. What it returns takes that back, for a code that was right or could not be looked up. */
  add(accountId: string, address = ''): () => void {
    const counts = [this.#ofAccounts.add(accountId), this.#ofAddresses.add(networkOf(address))];
    return () => {
      for (const one of counts) one.count--;
    };
  }
}
