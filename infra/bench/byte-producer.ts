import { makeTopic, plainKafka, plainProducer, pointTopic, recordsSince, zstd } from './kafka-topic.js';
import { ownCpuS, work } from './processes.js';

/** Takes the records of points from one Kafka and writes the same bytes into another. */
export interface ByteOrder {
  readonly from: string;
  /** Unix milliseconds of the first record. */
  readonly sinceMs: number;
  readonly to: string;
  readonly topic: string;
}

export interface ByteReport {
  /** Of this process, while it writes. */
  readonly cpuS: number;
  readonly records: number;
}

const recordsPerBatch = 20;

await work(async ({ from, sinceMs, to, topic }: ByteOrder) => {
  const messages = await recordsSince(from, pointTopic, sinceMs);
  const kafka = plainKafka(to);
  await makeTopic(kafka, topic);
  const producer = plainProducer(kafka);
  await producer.connect();
  return async () => {
    const cpuS = await ownCpuS(async () => {
      for (let at = 0; at < messages.length; at += recordsPerBatch) {
        await producer.send({ topic, acks: -1, compression: zstd, messages: messages.slice(at, at + recordsPerBatch) });
      }
    });
    await producer.disconnect();
    return { cpuS, records: messages.length } satisfies ByteReport;
  };
});
