import { Inject, Injectable } from '@nestjs/common';
import { CLOCK, type Clock } from '#edge';
import { claimLifetimeMs, networkOf, TelemetryError } from '#model';

/** Wrong codes of one account for as long as a code is good. */
export const maxWrongCodesOfAccount = 5;
/** Wrong codes from one address in a minute, whatever the account. */
export const maxWrongCodesOfAddress = 10;
const minuteMs = 60_000;
/** Accounts and addresses that are counted; of more, those are forgotten that began first. */
const maxCounted = 20_000;

interface Count {
  readonly untilMs: number;
  failures: number;
}

/** Slows down who guesses the codes of other people's claims, in this process. */
@Injectable()
export class WrongCodes {
  readonly #counts = new Map<string, Count>();

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /** @throws TelemetryError `too_many_wrong_codes`. */
  check(accountId: string, address: string | undefined): void {
    const { ofAccount, ofAddress } = this.#of(accountId, address);
    const full = [ofAccount.failures >= maxWrongCodesOfAccount && ofAccount, ofAddress.failures >= maxWrongCodesOfAddress && ofAddress];
    const untilMs = Math.max(...full.map((count) => (count ? count.untilMs : 0)));
    if (untilMs === 0) return;
    const retryAfterS = Math.max(1, Math.ceil((untilMs - this.clock()) / 1000));
    const detail = `There were too many wrong codes: try again in ${retryAfterS} seconds, with the code that the device or the command shows.`;
    throw new TelemetryError('too_many_wrong_codes', detail, { retryAfterS });
  }

  add(accountId: string, address: string | undefined): void {
    for (const count of Object.values(this.#of(accountId, address))) count.failures++;
  }

  #of(accountId: string, address = ''): { readonly ofAccount: Count; readonly ofAddress: Count } {
    return {
      ofAccount: this.#count(`account ${accountId}`, claimLifetimeMs),
      ofAddress: this.#count(`address ${networkOf(address)}`, minuteMs),
    };
  }

  #count(name: string, windowMs: number): Count {
    const known = this.#counts.get(name);
    if (known && known.untilMs > this.clock()) return known;
    this.#counts.delete(name);
    if (this.#counts.size >= maxCounted) this.#counts.delete(this.#counts.keys().next().value!);
    const fresh = { untilMs: this.clock() + windowMs, failures: 0 };
    this.#counts.set(name, fresh);
    return fresh;
  }
}
