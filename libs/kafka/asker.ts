import { setTimeout } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import { newClient, type Client, type KafkaAddress } from './client.js';
import { answered, logUnavailable, reasonOf } from './trouble.js';

interface Connected {
  readonly client: Client;
  readonly admin: Admin;
  /** Questions that wait for an answer. */
  open: number;
}

const patienceMs = 15_000;
const answerMs = 6_000;
const retries = 1;
const pauseMs = { first: 50, longest: 1_000 };

/** Asks the brokers, over one connection that is made again after each failure: what a client knows of them may be wrong by then. */
export class Asker {
  #connected: Promise<Connected> | undefined;
  #closed = false;

  constructor(private readonly address: KafkaAddress) {}

  /** Rejects `log_unavailable` when there is no answer for some seconds. A question may be asked more than once. */
  async ask<T>(question: (admin: Admin) => Promise<T>): Promise<T> {
    const deadline = performance.now() + patienceMs;
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.longest)) {
      try {
        return await this.#askOnce(question);
      } catch (cause) {
        // A broker that freezes has others beside it, and one that is asked for what has just moved knows better a moment later.
        if (this.#closed || performance.now() + ms > deadline) throw logUnavailable(`Kafka does not answer: ${reasonOf(cause)}.`, cause);
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
      return await answered(answerMs, question(connected.admin));
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
    const client = newClient(this.address, retries);
    const admin = client.kafka.admin();
    try {
      await answered(answerMs, admin.connect());
      return { client, admin, open: 0 };
    } catch (cause) {
      client.cut();
      throw cause;
    }
  }
}
