import { httpVerdict, mailVerdict, visible, type Answer, type Message } from '#model';
import { NotAllowed, permitted, resolveBySystem, type Resolve } from './guard.js';
import { HttpSender, type HttpAnswer } from './http-sender.js';
import { MailSender, type MailOptions } from './mail-sender.js';
import { Networks } from './networks.js';
import { noProvider, OpenIdProvider, type ProviderOptions } from './open-id-provider.js';

/** An attempt takes so long at most. */
export const maxAttemptMs = 10_000;

export interface OutboundOptions extends MailOptions {
  /** Networks that are allowed beside the public internet. */
  readonly networks: readonly string[];
  /** None when left out. */
  readonly provider?: ProviderOptions;
  readonly clock: () => number;
  /** The system's when left out. */
  readonly resolve?: Resolve;
  readonly maxAttemptMs?: number;
}

type Told = Omit<Answer, 'tookMs'>;

/** Everything that goes out to the world, where people say. */
export class Outbound {
  readonly mail: MailSender;
  readonly provider: OpenIdProvider;
  readonly #networks: Networks;
  readonly #resolve: Resolve;
  readonly #http: HttpSender;

  constructor(private readonly options: OutboundOptions) {
    this.#networks = new Networks(options.networks);
    this.#resolve = options.resolve ?? resolveBySystem;
    this.#http = new HttpSender(this.#networks, this.#resolve, options.clock);
    this.mail = new MailSender(options);
    this.provider = new OpenIdProvider(options.provider ?? noProvider, options.clock);
  }

  /** Why nothing is ever sent to this URL as things are; undefined where something is. Its name may have no address yet. */
  async whyNot(url: string): Promise<string | undefined> {
    try {
      await permitted(this.#networks, this.#resolve, new URL(url).hostname);
      return undefined;
    } catch (error) {
      return error instanceof NotAllowed ? error.message : undefined;
    }
  }

  /** Makes one attempt. Does not reject. */
  async send(message: Message): Promise<Answer> {
    const beganMs = performance.now();
    const told = await ('http' in message ? this.#post(message) : this.#mail(message)).catch(failureOf);
    return { ...told, tookMs: Math.round(performance.now() - beganMs) };
  }

  async #post({ id, http }: Extract<Message, { http: unknown }>): Promise<Told> {
    const { maxAttemptMs: ms = maxAttemptMs, clock } = this.options;
    const signal = AbortSignal.timeout(ms);
    const answer = await this.#http.post(id, http, signal).catch((error: unknown) => {
      throw signal.aborted ? new Error(`There was no answer within ${ms / 1000} seconds.`) : error;
    });
    return toldBy(answer, clock());
  }

  async #mail({ id, mail }: Extract<Message, { mail: unknown }>): Promise<Told> {
    await this.mail.send(id, mail);
    return { verdict: 'taken', status: 250, error: '', retryAfterMs: 0 };
  }
}

function toldBy({ status, text, retryAfter, refused }: HttpAnswer, nowMs: number): Told {
  const verdict = httpVerdict(status);
  const said = visible(text).trim();
  const error =
    verdict === 'taken' ? '' : (refused ?? (said === '' ? `The target answered ${status}.` : `The target answered ${status}: ${said}`));
  return { verdict, status, error, retryAfterMs: retryAfter === undefined ? 0 : waitOf(retryAfter, nowMs) };
}

/** @param text seconds, or a date. */
function waitOf(text: string, nowMs: number): number {
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - nowMs;
  return Number.isFinite(ms) ? Math.max(0, ms) : 0;
}

/** SMTP says a number too. Without one nobody has answered, which may be otherwise the next time. */
function failureOf(error: unknown): Told {
  if (error instanceof NotAllowed) return { verdict: 'blocked', status: null, error: visible(error.message), retryAfterMs: 0 };
  const { message, code, responseCode: status = null, command } = error as SmtpError;
  const isOurs = code === undefined || status !== null;
  const verdict = status === null ? 'later' : mailVerdict(status, command === 'RCPT TO' || command === 'DATA');
  return { verdict, status, error: visible(isOurs ? message : `The target cannot be reached: ${code}.`), retryAfterMs: 0 };
}

type SmtpError = Error & {
  readonly code?: string;
  readonly responseCode?: number;
  /** That the server has refused. */
  readonly command?: string;
};
