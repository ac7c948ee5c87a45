import type { AnyTopic, BatchHandler, RecordLog, StreamRecord, Subscription, Unreadable } from '#log';
import { until } from './until.js';

export interface LogConsumerOptions {
  readonly group: string;
  readonly topics: readonly AnyTopic[];
  readonly from?: 'beginning' | 'end';
  /** Runs before the records count as received; a rejection leaves them out. */
  readonly handler?: BatchHandler;
}

/** A member of a consumer group that remembers what it was given. */
export class LogConsumer {
  readonly records: StreamRecord[] = [];
  readonly unreadable: Unreadable[] = [];
  readonly batches: (readonly StreamRecord[])[] = [];
  stoppedBy: Error | undefined;
  #subscription!: Subscription;

  static async join(log: RecordLog, { handler, ...options }: LogConsumerOptions): Promise<LogConsumer> {
    const consumer = new LogConsumer();
    consumer.#subscription = await log.consume({
      ...options,
      handler: async (records, lease) => {
        consumer.batches.push(records);
        await handler?.(records, lease);
        consumer.records.push(...records);
      },
      unreadable: async (record) => void consumer.unreadable.push(record),
      stopped: (error) => void (consumer.stoppedBy = error),
    });
    return consumer;
  }

  get subscription(): Subscription {
    return this.#subscription;
  }

  /** Resolves once it has at least `count` records. */
  async has(count: number): Promise<void> {
    await until(`${count} records came, of which there are ${this.records.length}`, () => this.records.length >= count);
  }

  /** Commits everything that it was given. */
  async commit(records: readonly StreamRecord[] = this.records): Promise<void> {
    const positions = records.map(({ topic, partition, offset }) => ({ topic: topic.name, partition, offset: offset + 1 }));
    await this.#subscription.commit(positions);
  }

  async stop(): Promise<void> {
    await this.#subscription.stop();
  }
}
