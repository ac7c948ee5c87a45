import { Inject, Injectable } from '@nestjs/common';
import { networkOf, TelemetryError } from '#model';
import { CLOCK, type Clock } from '../clock.js';

const windowMs = 900_000;
/** Wrong passwords for one account from one address. */
export const maxFailuresOfPair = 10;
/** Wrong passwords from one address, whatever the account. */
export const maxFailuresOfAddress = 100;
/** Wrong passwords for one account from everywhere: beyond them each address that the account does not know has one attempt. */
export const maxFailuresOfAccount = 100;
/** Accounts, addresses and pairs of them that are counted; of more, those are forgotten that began first. */
const maxCounted = 30_000;

interface Count {
  readonly untilMs: number;
  failures: number;
}

/** A sign-in that is under way counts as a failure until it has succeeded, so that many at once are no more than one after the other. */
export interface Attempt {
  succeeded(): void;
}

/**
 * Slows down who guesses passwords, in this process. An account is never closed: who guesses from one address has used up the attempts of
 * that address; who guesses from very many leaves one attempt to each other address, and all of them to those that the account knows.
 */
@Injectable()
export class SignInLimits {
  readonly #counts = new Map<string, Count>();

  constructor(@Inject(CLOCK) private readonly clock: Clock) {}

  /**
   * @param email of an account, or of none: nobody learns which.
   * @param address undefined when the connection has just been reset.
   * @param isKnown whether the account knows who asks, by a session or by the address.
   * @throws TelemetryError `too_many_sign_ins`.
   */
  begin(email: string, address: string | undefined, isKnown: boolean): Attempt {
    const network = networkOf(address ?? '');
    const ofAccount = this.#count(`account ${email}`);
    const ofAddress = this.#count(`address ${network}`);
    const ofPair = this.#count(`pair ${network} ${email}`);
    const isUnderAttack = ofAccount.failures >= maxFailuresOfAccount && !isKnown;
    this.#check(ofPair, isUnderAttack ? 1 : maxFailuresOfPair);
    if (!isKnown) this.#check(ofAddress, maxFailuresOfAddress);
    for (const count of [ofAccount, ofAddress, ofPair]) count.failures++;
    return {
      succeeded: () => {
        ofAccount.failures--;
        ofAddress.failures--;
        // Whoever knows the password may have mistyped it before.
        ofPair.failures = 0;
      },
    };
  }

  #check({ failures, untilMs }: Count, max: number): void {
    if (failures < max) return;
    const retryAfterS = Math.max(1, Math.ceil((untilMs - this.clock()) / 1000));
    const detail = `There were too many wrong passwords: try again in ${Math.ceil(retryAfterS / 60)} minutes, or from another address.`;
    throw new TelemetryError('too_many_sign_ins', detail, { retryAfterS });
  }

  #count(name: string): Count {
    const known = this.#counts.get(name);
    if (known && known.untilMs > this.clock()) return known;
    this.#counts.delete(name);
    if (this.#counts.size >= maxCounted) this.#counts.delete(this.#counts.keys().next().value!);
    const fresh = { untilMs: this.clock() + windowMs, failures: 0 };
    this.#counts.set(name, fresh);
    return fresh;
  }
}
