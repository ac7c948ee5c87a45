import type { Agent } from 'node:http';
import { Sender, SenderOptions } from '@questdb/nodejs-client';
import { oneAtATime } from '#model';
import { agentFor } from '#sockets';
import { credentialsRefused, type HttpAccess } from './access.js';
import { type Delivery, NotAccepted, Refused, RefusedRow } from './delivery.js';
import { type Series, symbolsText } from './series-names.js';

const patienceMs = 15_000;
const maxRows = 10_000;

/** QuestDB's own client, for tables that get few rows. */
export class Client {
  readonly #agent: Agent;
  #sender: Promise<Sender> | undefined;
  readonly #inTurn = oneAtATime();

  /** @param url base address of the server. */
  constructor(
    private readonly url: string,
    private readonly access: HttpAccess = {},
  ) {
    this.#agent = agentFor(url, access.tls, { keepAlive: true });
  }

  /**
   * Sends the rows that `build` makes, as one transaction, one call after the other; `permit` is asked in the tick of sending. Rejects
   * `NotAccepted`.
   */
  send(build: (sender: Sender) => Promise<void>, permit: () => void): Promise<void> {
    return this.#inTurn(() => this.#send(build, permit));
  }

  async #send(build: (sender: Sender) => Promise<void>, permit: () => void): Promise<void> {
    const sender = await (this.#sender ??= this.#open());
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
    this.#agent.destroy();
  }

  async #open(): Promise<Sender> {
    const { username, password, token } = this.access;
    const { protocol, hostname, port } = new URL(this.url);
    const [scheme, usualPort] = protocol === 'https:' ? (['https', 443] as const) : (['http', 80] as const);
    const settings = `${scheme}::addr=${hostname}:${port || usualPort};stdlib_http=on;auto_flush=off;protocol_version=2;retry_timeout=0;request_timeout=10000`;
    const options = await SenderOptions.fromConfig(settings, { agent: this.#agent });
    // Not in the text: there a semicolon in a password would end it.
    return new Sender(Object.assign(options, { username, password, token }));
  }
}

/** The client's error has the status of the answer in its text, and nothing of the answer's body. */
function failureOf(cause: Error): NotAccepted {
  const status = Number(/statusCode=(\d+)/.exec(cause.message)?.[1]);
  if (status === 401 || status === 403) return new NotAccepted('none', credentialsRefused(status), { cause });
  return status === 400
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

/** The series whose metric a row names. */
export type SeriesName = Pick<Series, 'org' | 'source' | 'metric'>;

/** Writes the names of metrics, each series once under a lease, before any point of the series. */
export class NameRows {
  #waiting: Series[] = [];

  constructor(
    private readonly client: Client,
    private readonly table: string,
  ) {}

  add(series: Series): void {
    this.#waiting.push(series);
  }

  /** Sends names by themselves, without adding them. Rejects as `write` does. */
  async probe(names: readonly SeriesName[], delivery: Delivery, giveUp: () => void): Promise<void> {
    await this.#deliver(names, delivery, giveUp);
  }

  /** Resolves when readers see them. Rejects `RefusedRow`, and as a delivery does. */
  async write(delivery: Delivery): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    for (let from = 0; from < waiting.length; from += maxRows) {
      await this.#deliver(waiting.slice(from, from + maxRows), delivery);
    }
    await delivery.untilItWorks(() => delivery.shows([this.table]));
  }

  /** A name that is refused is found by halves: QuestDB's client does not tell which row it was. */
  async #deliver(some: readonly SeriesName[], delivery: Delivery, giveUp?: () => void): Promise<void> {
    try {
      await delivery.untilItWorks(() => this.#send(some, delivery), giveUp);
    } catch (cause) {
      if (!(cause instanceof Refused)) throw cause;
      const [{ org, source, metric }] = some as [SeriesName];
      if (some.length === 1) throw new RefusedRow(symbolsText({ org, source, metric }), cause);
      const middle = Math.ceil(some.length / 2);
      await this.#deliver(some.slice(0, middle), delivery, giveUp);
      await this.#deliver(some.slice(middle), delivery, giveUp);
    }
  }

  #send(some: readonly SeriesName[], delivery: Delivery): Promise<void> {
    return this.client.send(
      async (sender) => {
        for (const { org, source, metric } of some) {
          await sender.table(this.table).symbol('org', org).symbol('source', source).symbol('metric', metric).at(0, 'ms');
        }
      },
      () => delivery.check(),
    );
  }
}
