import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import kafkajs from 'kafkajs';

const { Kafka, logLevel, CompressionCodecs, CompressionTypes, Partitioners } = kafkajs;

CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: ({ buffer }: { buffer: Buffer }) => Promise.resolve(zstdCompressSync(buffer)),
  decompress: (buffer: Buffer) => Promise.resolve(zstdDecompressSync(buffer)),
});

export const zstd = CompressionTypes.ZSTD;
export const pointTopic = 'telemetry.points.v1';
/** As many as the topic of points has. */
const partitions = 24;

/** kafkajs as it comes: the other side of what our own adapter does. */
export const plainKafka = (brokers: string): kafkajs.Kafka =>
  new Kafka({ clientId: 'bench', brokers: brokers.split(','), logLevel: logLevel.ERROR });

export const plainProducer = (kafka: kafkajs.Kafka): kafkajs.Producer =>
  kafka.producer({ createPartitioner: Partitioners.DefaultPartitioner, allowAutoTopicCreation: false });

async function ask<T>(kafka: kafkajs.Kafka, question: (admin: kafkajs.Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  await admin.connect();
  try {
    return await question(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Makes a topic where it is missing. */
export async function makeTopic(kafka: kafkajs.Kafka, topic: string): Promise<void> {
  await ask(kafka, (admin) => admin.createTopics({ topics: [{ topic, numPartitions: partitions }], waitForLeaders: true }));
}

/** Offsets [from, to) of a partition. */
interface Extent {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

const extentsSince = (kafka: kafkajs.Kafka, topic: string, sinceMs: number): Promise<Extent[]> =>
  ask(kafka, async (admin) => {
    const ends = await admin.fetchTopicOffsets(topic);
    const firsts = new Map((await admin.fetchTopicOffsetsByTimestamp(topic, sinceMs)).map((it) => [it.partition, Number(it.offset)]));
    return ends.map(({ partition, high }) => ({ partition, from: firsts.get(partition)!, to: Number(high) }));
  });

/** How many records a topic has got since a time, Unix milliseconds. */
export async function recordCount(brokers: string, topic: string, sinceMs: number): Promise<number> {
  const extents = await extentsSince(plainKafka(brokers), topic, sinceMs);
  return extents.reduce((sum, { from, to }) => sum + to - from, 0);
}

interface PlainRecord {
  readonly key: Buffer | null;
  readonly value: Buffer;
}

/** The records that a topic has got since a time, Unix milliseconds. */
export async function recordsSince(brokers: string, topic: string, sinceMs: number): Promise<PlainRecord[]> {
  const kafka = plainKafka(brokers);
  const extents = new Map((await extentsSince(kafka, topic, sinceMs)).map((extent) => [extent.partition, extent]));
  const left = new Set(
    Array.from(
      extents.values().filter(({ from, to }) => from < to),
      ({ partition }) => partition,
    ),
  );
  const records: PlainRecord[] = [];
  const all = Promise.withResolvers<void>();
  if (left.size === 0) return records;

  const consumer = kafka.consumer({ groupId: `bench-${process.pid}-${sinceMs}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({
    eachBatch: ({ batch }) => {
      const { partition, from, to } = extents.get(batch.partition)!;
      for (const { offset, key, value } of batch.messages)
        if (Number(offset) >= from && Number(offset) < to) records.push({ key, value: value! });
      if (Number(batch.lastOffset()) + 1 >= to) left.delete(partition);
      if (left.size === 0) all.resolve();
      return Promise.resolve();
    },
  });
  for (const { partition, from } of extents.values()) consumer.seek({ topic, partition, offset: `${from}` });
  await all.promise;
  await consumer.disconnect();
  return records;
}
