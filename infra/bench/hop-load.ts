import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { makeTopic, plainKafka, plainProducer } from './kafka-topic.js';
import { work } from './processes.js';

/** Appends records to Kafka at a fixed rate, and consumes them, with kafkajs as it comes. */
export interface HopOrder {
  readonly brokers: string;
  readonly records: number;
  readonly bytes: number;
  readonly perSecond: number;
}

export interface HopReport {
  /** From sending each record until the consumer has it, milliseconds. */
  readonly delays: readonly number[];
}

const topic = 'bench.hops';

await work(async ({ brokers, records, bytes, perSecond }: HopOrder) => {
  const kafka = plainKafka(brokers);
  await makeTopic(kafka, topic).catch(() => undefined);
  const producer = plainProducer(kafka);
  await producer.connect();
  const consumer = kafka.consumer({ groupId: `hops-${process.pid}`, maxWaitTimeInMs: 500 });
  await consumer.connect();
  await consumer.subscribe({ topic });
  const sentMs = new Map<string, number>();
  const delays: number[] = [];
  await consumer.run({
    eachMessage: ({ message }) => {
      const sent = sentMs.get(message.key!.toString());
      if (sent !== undefined) delays.push(performance.now() - sent);
      return Promise.resolve();
    },
  });
  const value = randomBytes(bytes);
  const send = async (key: string): Promise<void> => {
    sentMs.set(key, performance.now());
    await producer.send({ topic, acks: -1, messages: [{ key, value }] });
  };
  // Once records come, it consumes.
  for (let at = 0; delays.length === 0; at++) {
    await send(`${process.pid} warm ${at}`);
    await pause(50);
  }

  return async (): Promise<HopReport> => {
    await pause(1_000);
    delays.length = 0;
    const begunMs = performance.now();
    const sent: Promise<void>[] = [];
    for (let at = 0; at < records; at++) {
      const dueMs = begunMs + (1_000 * at) / perSecond - performance.now();
      if (dueMs > 0) await pause(dueMs);
      sent.push(send(`${process.pid} ${at}`));
    }
    await Promise.all(sent);
    for (let looks = 0; delays.length < records && looks < 100; looks++) await pause(100);
    if (delays.length !== records) throw new Error(`${records} records were sent and ${delays.length} consumed: the run is void`);
    await Promise.all([producer.disconnect(), consumer.disconnect()]);
    return { delays };
  };
});
