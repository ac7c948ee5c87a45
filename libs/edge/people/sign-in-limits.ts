import { Inject, Injectable } from '@nestjs/common';
import { networkOf, TelemetryError } from '#model';
import { CLOCK, type Clock } from '../clock.js';
import { Attempts } from './attempts.js';

const windowMs = 900_000;
/** Wrong passwords for one account from one address, or from one browser that the account knows; also how many uses of one reset link may be under way. */
export const maxFailuresOfPair = 10;
/** Wrong passwords from one address, whatever the account, and addresses for a new account that have one. */
export const maxFailuresOfAddress = 100;
/** Wrong passwords for one account from everywhere: beyond them each address that the account does not know has one attempt. */
export const maxFailuresOfAccount = 100;

/** An attempt that is under way counts as a failure until it has succeeded, so that many at once are no more than one after the other. */
export interface Attempt {
  succeeded(): void;
}

/** How an account knows who asks. */
export interface Acquaintance {
  /** Of the browser; undefined where it has none of this account. */
  readonly sessionId?: string | undefined;
  /** Whether the account has been used from this address. */
  readonly isNear?: boolean;
}

/**
 * Slows down who guesses passwords, in this process. An account is never closed: who guesses from one address has used up the attempts of
 * that address; who guesses from very many leaves one attempt to each other address, and all of them to those that the account knows. A
 * browser that the account knows has attempts of its own, whoever guesses behind the same address.
 */
@Injectable()
export class SignInLimits {
  readonly #ofAccounts: Attempts;
  readonly #ofAddresses: Attempts;
  readonly #ofPairs: Attempts;
  readonly #ofBrowsers: Attempts;
  readonly #ofLinks: Attempts;

  constructor(@Inject(CLOCK) clock: Clock) {
    const attempts = (): Attempts => new Attempts(windowMs, clock);
    [this.#ofAccounts, this.#ofAddresses, this.#ofPairs] = [attempts(), attempts(), attempts()];
    [this.#ofBrowsers, this.#ofLinks] = [attempts(), attempts()];
  }

  /**
   * @param email of an account, or of none: nobody learns which.
   * @param address undefined when the connection has just been reset.
   * @throws TelemetryError `too_many_sign_ins`.
   */
  begin(email: string, address: string | undefined, { sessionId, isNear = false }: Acquaintance = {}): Attempt {
    if (sessionId !== undefined) return this.#beginIn(sessionId);
    const network = networkOf(address ?? '');
    const pair = `${network} ${email}`;
    const isUnderAttack = this.#ofAccounts.count(email) >= maxFailuresOfAccount && !isNear;
    check(this.#ofPairs, pair, isUnderAttack ? 1 : maxFailuresOfPair);
    if (!isNear) check(this.#ofAddresses, network, maxFailuresOfAddress);
    const [ofAccount, ofAddress, ofPair] = [this.#ofAccounts.add(email), this.#ofAddresses.add(network), this.#ofPairs.add(pair)];
    return {
      succeeded: () => {
        ofAccount.count--;
        ofAddress.count--;
        // Whoever knows the password may have mistyped it before.
        ofPair.count = 0;
      },
    };
  }

  /** Somebody asks for an account, which fails where there is one: whoever has an invitation for anybody could find out who has. @throws TelemetryError `too_many_sign_ins`. */
  beginSignUp(address: string | undefined): Attempt {
    return counted(this.#ofAddresses, networkOf(address ?? ''), maxFailuresOfAddress);
  }

  /**
   * Somebody uses a link that sets another password. Each link has attempts of its own, so that a link also works from an address that has none left.
   *
   * @throws TelemetryError `too_many_sign_ins`.
   */
  beginReset(link: string): Attempt {
    return counted(this.#ofLinks, link, maxFailuresOfPair);
  }

  #beginIn(sessionId: string): Attempt {
    check(this.#ofBrowsers, sessionId, maxFailuresOfPair);
    const ofBrowser = this.#ofBrowsers.add(sessionId);
    return { succeeded: () => void (ofBrowser.count = 0) };
  }
}

function counted(attempts: Attempts, name: string, max: number): Attempt {
  check(attempts, name, max);
  const its = attempts.add(name);
  return { succeeded: () => void its.count-- };
}

function check(attempts: Attempts, name: string, max: number): void {
  if (attempts.count(name) < max) return;
  const retryAfterS = attempts.secondsLeft(name);
  const detail = `There were too many wrong attempts: try again in ${Math.ceil(retryAfterS / 60)} minutes, or from another address.`;
  throw new TelemetryError('too_many_sign_ins', detail, { retryAfterS });
}
