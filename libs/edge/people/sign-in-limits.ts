import { Inject, Injectable } from '@nestjs/common';
import { networkOf, TelemetryError } from '#model';
import { CLOCK, type Clock } from '../clock.js';
import { Attempts } from './attempts.js';

const windowMs = 900_000;
/** Wrong passwords for one account from one address. */
export const maxFailuresOfPair = 10;
/** Wrong passwords from one address, whatever the account. */
export const maxFailuresOfAddress = 100;
/** Wrong passwords for one account from everywhere: beyond them each address that the account does not know has one attempt. */
export const maxFailuresOfAccount = 100;
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
  readonly #failures: Attempts;

  constructor(@Inject(CLOCK) clock: Clock) {
    this.#failures = new Attempts(windowMs, clock);
  }

  /**
   * @param email of an account, or of none: nobody learns which.
   * @param address undefined when the connection has just been reset.
   * @param isKnown whether the account knows who asks, by a session or by the address.
   * @throws TelemetryError `too_many_sign_ins`.
   */
  begin(email: string, address: string | undefined, isKnown: boolean): Attempt {
    const network = networkOf(address ?? '');
    const ofAccount = this.#failures.of(`account ${email}`);
    const ofAddress = this.#failures.of(`address ${network}`);
    const ofPair = this.#failures.of(`pair ${network} ${email}`);
    const isUnderAttack = ofAccount.count >= maxFailuresOfAccount && !isKnown;
    this.#check(ofPair, isUnderAttack ? 1 : maxFailuresOfPair);
    if (!isKnown) this.#check(ofAddress, maxFailuresOfAddress);
    for (const each of [ofAccount, ofAddress, ofPair]) each.count++;
    return {
      succeeded: () => {
        ofAccount.count--;
        ofAddress.count--;
        // Whoever knows the password may have mistyped it before.
        ofPair.count = 0;
      },
    };
  }

  #check(failures: ReturnType<Attempts['of']>, max: number): void {
    if (failures.count < max) return;
    const retryAfterS = this.#failures.secondsLeft(failures);
    const detail = `There were too many wrong passwords: try again in ${Math.ceil(retryAfterS / 60)} minutes, or from another address.`;
    throw new TelemetryError('too_many_sign_ins', detail, { retryAfterS });
  }
}
