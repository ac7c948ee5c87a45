import { Injectable } from '@nestjs/common';
import { networkOf, normalEmail, TelemetryError, type Account, type Person } from '#model';
import { Accounts } from './accounts.js';
import { Passwords } from './passwords.js';
import { Sessions, type Origin } from './sessions.js';
import { SignInLimits, type Acquaintance } from './sign-in-limits.js';

/** What somebody shows who signs in. */
export interface SignInRequest {
  readonly email: string;
  readonly password: string;
}

export interface SignedIn {
  readonly account: Account;
  /** For the cookie. */
  readonly token: string;
}

/** The way in for people: an address and a password make a session. */
@Injectable()
export class SignIn {
  constructor(
    private readonly accounts: Accounts,
    private readonly passwords: Passwords,
    private readonly sessions: Sessions,
    private readonly limits: SignInLimits,
  ) {}

  /**
   * @param before the token that the browser has: its session ends.
   * Rejects `wrong_password`, whether or not there is such an account, `too_many_sign_ins`, or `overloaded`.
   */
  async signIn({ email, password }: SignInRequest, from: Origin, before?: string): Promise<SignedIn> {
    const account = await this.#checked(normalEmail(email) ?? email.toLowerCase(), password, from, before);
    if (!account) throw new TelemetryError('wrong_password', 'Check the address and the password: the two do not belong together.');
    return { account, token: await this.sessions.begin(account, from, this.sessions.personOf(before)) };
  }

  /** Rejects `wrong_password` unless this is the password of who has signed in. */
  async confirm({ email }: Person, password: string, from: Origin, token: string | undefined): Promise<Account> {
    const account = await this.#checked(email, password, from, token);
    if (!account) throw new TelemetryError('wrong_password', 'Check the password: it is not the one of your account.');
    return account;
  }

  async #checked(email: string, password: string, from: Origin, token: string | undefined): Promise<Account | undefined> {
    const account = this.accounts.byEmail(email);
    const attempt = this.limits.begin(email, from.address, account && this.#acquaintance(account, from, token));
    const isRight = await this.passwords.verify(account?.passwordDigest, password);
    if (!account || !isRight) return undefined;
    attempt.succeeded();
    return account;
  }

  /** How an account has been used by whoever this is: from the same browser, or from the same address. */
  #acquaintance({ accountId }: Account, { address = '' }: Origin, token: string | undefined): Acquaintance {
    const network = networkOf(address);
    const isNear = this.sessions
      .list(accountId)
      .some((session) => [session.address, session.usedFrom].some((its) => networkOf(its) === network));
    return { sessionId: this.sessions.idOf(token, accountId), isNear };
  }
}
