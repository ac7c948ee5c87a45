import { Inject, Injectable, Logger } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { Accounts, Attempts, CLOCK, type Clock, Outbound, People } from '#edge';
import { causes, mailedResetMs, networkOf, normalEmail, TelemetryError, type Account } from '#model';

const logger = new Logger('ForgottenPasswords');

const windowMs = 3_600_000;
/** Requests from one address in an hour, whatever the account. */
export const maxAskedFrom = 20;
/** Mails to one account in an hour. */
export const maxMailsTo = 3;
/** Mails that are under way. */
export const maxMailsAtOnce = 20;

/** Sends links that set another password to who has forgotten theirs. What is answered, and when, is the same whether there is an account. */
@Injectable()
export class ForgottenPasswords {
  readonly #asked: Attempts;
  readonly #mails: Attempts;
  #sending = 0;

  constructor(
    private readonly outbound: Outbound,
    private readonly accounts: Accounts,
    private readonly people: People,
    @Inject(CLOCK) clock: Clock,
  ) {
    this.#asked = new Attempts(windowMs, clock);
    this.#mails = new Attempts(windowMs, clock);
  }

  /** Whether this server can send mail. */
  get canSend(): boolean {
    return this.outbound.mail.isConfigured;
  }

  /**
   * Has a link sent, if somebody has an account with this address. Nobody waits for the mail: that would tell.
   *
   * @param from the address of who asks; undefined when the connection has just been reset.
   * @throws TelemetryError `too_many_mails`, or `overloaded`.
   */
  ask(email: string, from: string | undefined): void {
    const network = networkOf(from ?? '');
    if (this.#asked.count(network) >= maxAskedFrom)
      throw new TelemetryError('too_many_mails', 'Look into your mail, or try again in an hour.', {
        retryAfterS: this.#asked.secondsLeft(network),
      });
    if (this.#sending >= maxMailsAtOnce)
      throw new TelemetryError('overloaded', 'The mail server is slow at this moment: try again.', { retryAfterS: 10 });
    this.#asked.add(network);
    const account = this.accounts.byEmail(normalEmail(email) ?? '');
    if (!account) return;
    // Whoever asks for the mails of another does not learn that they have ended. The owner has got the ones before.
    if (this.#mails.count(account.accountId) >= maxMailsTo) return;
    this.#mails.add(account.accountId);
    this.#sending++;
    this.#send(account)
      .catch((error: unknown) => logger.warn(`a mail with a link that sets a password is not sent: ${causes(error)}`))
      .finally(() => this.#sending--);
  }

  async #send(account: Account): Promise<void> {
    const link = await this.people.offerReset(account, nobody, mailedResetMs);
    await this.outbound.mail.send(randomUUID(), { to: account.email, subject: 'Set another password', text: textWith(link) });
  }
}

/** Whoever asks has not signed in. */
const nobody = { id: '', name: 'somebody at the page for forgotten passwords' };

const textWith = (
  link: string,
): string => `Somebody has asked for another password of your Headwater account. If it was you, open this link within an hour:

${link}

It works once, and signs you out everywhere else. If it was not you, there is nothing to do: your password stays as it is.
`;
