import { setTimeout } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { newClient, type Client, type KafkaAddress } from './client.js';
import { kafkaErrorOf, logUnavailable, reasonOf, within } from './trouble.js';

interface Connected {
  readonly client: Client;
  readonly admin: Admin;
  /** Questions that wait for an answer. */
  open: number;
}

const answerMs = 15_000;
const pauseMs = 50;
const longestPauseMs = 1_000;

/** Asks the brokers, over one connection that is made again after each failure: what a client knows of them may be wrong by then. */
export class Asker {
  #connected: Promise<Connected> | undefined;
  #closed = false;

  constructor(private readonly address: KafkaAddress) {}

  /** Rejects `log_unavailable` when there is no answer. A question may be asked more than once. */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    for (let ms = pauseMs; ; ms *= 2) {
      try {
        return await this.#askOnce(question);
      } catch (cause) {
        // A broker that answers so may have been asked for something that moved a moment ago.
        if (this.#closed || kafkaErrorOf(cause) === undefined || ms > longestPauseMs) {
          throw logUnavailable(`Kafka does not answer: ${reasonOf(cause)}.`, cause);
        }
        await setTimeout(ms);
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connected?.then(({ client }) => client.cut()).catch(() => undefined);
  }

  async #askOnce<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    if (this.#closed) throw new Error('the log is being closed');
    const connecting = (this.#connected ??= this.#connect());
    const connected = await connecting.catch((cause: unknown) => this.#forget(connecting, cause));
    connected.open++;
    try {
      const answer = await within(
        answerMs,
        question(connected.admin).then((value) => ({ value })),
      );
      if (!answer) throw new Error('no broker has answered');
      return answer.value;
    } catch (cause) {
      return this.#forget(connecting, cause);
    } finally {
      // Other questions may still get their answers over a connection that is not used any more.
      if (--connected.open === 0 && this.#connected !== connecting) connected.client.cut();
    }
  }

  #forget(connecting: Promise<Connected>, cause: unknown): never {
    if (this.#connected === connecting) this.#connected = undefined;
    throw cause;
  }

  async #connect(): Promise<Connected> {
    const client = newClient(this.address);
    const admin = client.kafka.admin();
    try {
      await admin.connect();
      return { client, admin, open: 0 };
    } catch (cause) {
      client.cut();
      throw cause;
    }
  }
}
