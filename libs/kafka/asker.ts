import type { Admin } from 'kafkajs';
import { newClient, type Client, type KafkaAddress } from './client.js';
import { logUnavailable, reasonOf, within } from './trouble.js';

interface Connected {
  readonly client: Client;
  readonly admin: Admin;
}

const answerMs = 15_000;

/** Asks the brokers, over one connection that is made again after each failure: what a client knows of them may be wrong by then. */
export class Asker {
  #connected: Promise<Connected> | undefined;
  #closed = false;

  constructor(private readonly address: KafkaAddress) {}

  /** Rejects `log_unavailable` when there is no answer. */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    if (this.#closed) throw logUnavailable('The log is being closed.');
    const connected = (this.#connected ??= this.#connect());
    try {
      const { admin } = await connected;
      const answer = await within(
        answerMs,
        question(admin).then((value) => ({ value })),
      );
      if (!answer) throw new Error('no broker has answered');
      return answer.value;
    } catch (cause) {
      if (this.#connected === connected) this.#connected = undefined;
      void connected.then(({ client }) => client.cut()).catch(() => undefined);
      throw logUnavailable(`Kafka does not answer: ${reasonOf(cause)}.`, cause);
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connected?.then(({ client }) => client.cut()).catch(() => undefined);
  }

  async #connect(): Promise<Connected> {
    const client = newClient(this.address);
    const admin = client.kafka.admin();
    try {
      await admin.connect();
      return { client, admin };
    } catch (cause) {
      client.cut();
      throw cause;
    }
  }
}
