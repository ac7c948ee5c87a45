import { Sender } from '@questdb/nodejs-client';
import { NotAccepted, Refused } from './line-sink.js';

const patienceMs = 15_000;

/** QuestDB's own client, for tables that get few rows. */
export class Client {
  readonly #settings: string;
  #sender: Promise<Sender> | undefined;
  #turn: Promise<unknown> = Promise.resolve();

  /** @param url base address of the server. */
  constructor(url: string) {
    this.#settings = `http::addr=${new URL(url).host};stdlib_http=on;auto_flush=off;protocol_version=2;retry_timeout=0;request_timeout=10000`;
  }

  /**
   * Sends the rows that `build` makes, as one transaction, one call after the other; `permit` is asked in the tick of sending. Rejects
   * `NotAccepted`.
   */
  send(build: (sender: Sender) => Promise<void>, permit: () => void): Promise<void> {
    const sent = this.#turn.then(() => this.#send(build, permit));
    this.#turn = sent.catch(() => undefined);
    return sent;
  }

  async #send(build: (sender: Sender) => Promise<void>, permit: () => void): Promise<void> {
    const sender = await (this.#sender ??= Sender.fromConfig(this.#settings));
    try {
      // A flush that failed before has emptied the buffer, a build that failed has not.
      sender.reset();
      await build(sender);
      permit();
      await inTime(sender.flush());
    } catch (cause) {
      this.#sender = undefined;
      void sender.close().catch(() => undefined);
      throw failureOf(cause as Error);
    }
  }

  async close(): Promise<void> {
    const sender = await this.#sender?.catch(() => undefined);
    this.#sender = undefined;
    await sender?.close();
  }
}

/** The client tells the status of an answer in the text of its error only, and nothing of what the answer says. */
function failureOf(cause: Error): NotAccepted {
  return /statusCode=400\b/.test(cause.message)
    ? new Refused(undefined, 'QuestDB answers 400: a row does not fit its table', { cause })
    : new NotAccepted('unknown', `QuestDB's client failed: ${cause.message}`, { cause });
}

/** A flush may never settle. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error('no answer')), patienceMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
