import type { Credentials } from '../deployment.js';
import { eventually } from '../eventually.js';
import type { Answer, Ask } from '../http/send.js';

/** Somebody with a browser, who signs in before the first question. */
export class Visitor {
  #cookie: Promise<string> | undefined;

  constructor(
    private readonly exchange: (ask: Ask) => Promise<Answer>,
    private readonly credentials: Credentials | undefined,
  ) {}

  /** Asks the application host. */
  async ask(ask: Ask): Promise<Answer> {
    return this.exchange({ ...ask, headers: { ...ask.headers, cookie: await this.cookie() } });
  }

  /** The session, as a browser sends it. */
  cookie(): Promise<string> {
    return (this.#cookie ??= this.#signIn());
  }

  /** The same person with another browser. */
  elsewhere(): Visitor {
    return new Visitor(this.exchange, this.credentials);
  }

  async accountId(): Promise<string> {
    const { text } = await this.ask({ path: '/api/auth/session' });
    return (JSON.parse(text) as { account_id: string }).account_id;
  }

  /** Resolves when every replica is likely to know the session: two in a row do. */
  async #signIn(): Promise<string> {
    const answer = await this.exchange({
      method: 'POST',
      path: '/api/auth/sign-in',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(this.credentials),
    });
    if (answer.status !== 200) throw new Error(`nobody could sign in: ${answer.status} ${answer.text}`);
    const cookie = answer.headers['set-cookie']!.split(';', 1)[0]!;
    await eventually(async () => {
      for (let times = 0; times < 2; times++) {
        const { status } = await this.exchange({ path: '/api/auth/session', headers: { cookie } });
        if (status !== 200) throw new Error(`the session is not known: ${status}`);
      }
    });
    return cookie;
  }
}
