import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Producer } from 'kafkajs';
import { freePorts, startKafka, type KafkaServers } from '../../../infra/servers/index.js';
import { describeOnOwnServers, Link, until } from '#testing';
import { Asker } from '../asker.js';
import { newClient, type Client } from '../client.js';
import { GuardedProducer, type Sending } from '../guarded-producer.js';
import { extentsOf } from '../offsets.js';
import { SendQueue, type Outgoing } from '../send-queue.js';

const partitions = Array.from({ length: 12 }, (_, n) => n);
const waitMs = 60_000;
const folder = (): Promise<string> => mkdtemp(join(tmpdir(), 'headwater-kafka-'));

/** One record to each partition. */
const sendings = (topic: string): Sending[] =>
  partitions.map((partition) => ({ topic, partition, messages: [{ key: 'k', value: `to ${partition}`, partition }] }));
const outgoing = (topic: string, partition: number, value: string): Outgoing => ({
  topic,
  partition,
  bytes: 100,
  message: { key: 'k', value, partition },
});

/** A producer as kafkajs gives it, without a guard. */
function plain(client: Client): Producer {
  return client.kafka.producer({
    idempotent: true,
    createPartitioner:
      () =>
      ({ message }) =>
        message.partition!,
  });
}

/** Records in each partition of a topic. */
async function counts(asker: Asker, topic: string): Promise<number[]> {
  return (await extentsOf(asker, [topic])).get(topic)!.map(({ high }) => high);
}

describeOnOwnServers('a send over three brokers of which one freezes and dies', () => {
  let kafka: KafkaServers;
  let asker: Asker;
  beforeAll(async () => {
    kafka = await startKafka({ folder: await folder(), brokers: 3 });
    asker = new Asker(kafka);
  }, 120_000);
  afterAll(async () => {
    await asker?.close();
    await kafka?.stop();
  }, 60_000);

  const leaders = async (topic: string): Promise<number[]> => {
    const { topics } = await asker.ask((admin) => admin.fetchTopicMetadata({ topics: [topic] }));
    return topics[0]!.partitions.map(({ leader }) => leader);
  };
  /** Runs `send` while the first broker is frozen and then killed, and brings it back. */
  const whileOneDies = async <T>(topic: string, send: () => Promise<T>): Promise<T> => {
    const [broker] = kafka.servers;
    await broker!.kill('SIGSTOP');
    try {
      const sent = send();
      await until('the others lead all partitions', async () => !(await leaders(topic)).includes(1));
      await broker!.kill('SIGKILL');
      return await sent;
    } finally {
      await broker!.kill('SIGKILL');
      await broker!.start();
      await until('it leads again', async () => (await leaders(topic)).every((leader) => leader > 0));
    }
  };
  const newTopic = async (topic: string): Promise<string> => {
    const config = {
      topic,
      numPartitions: partitions.length,
      replicationFactor: 3,
      configEntries: [{ name: 'min.insync.replicas', value: '2' }],
    };
    await asker.ask((admin) => admin.createTopics({ topics: [config] }));
    await until('its partitions have leaders', async () => new Set(await leaders(topic)).size === 3);
    return topic;
  };

  it('resolves in kafkajs alone although some of it is nowhere', async () => {
    const topic = await newTopic('plain');
    const client = newClient(kafka);
    const producer = plain(client);
    await producer.connect();
    await producer.sendBatch({ topicMessages: sendings(topic).map(({ messages }) => ({ topic, messages: [...messages] })) });
    const answer = await whileOneDies(topic, () =>
      producer.sendBatch({ acks: -1, topicMessages: [{ topic, messages: sendings(topic).flatMap(({ messages }) => [...messages]) }] }),
    );
    client.cut();
    const found = await counts(asker, topic);
    expect(answer.length).toBeLessThan(partitions.length);
    expect(found.filter((count) => count === 1).length).toBe(partitions.length - answer.length);
  }, 180_000);

  it('says in ours what is nowhere, so that it is sent again', async () => {
    const topic = await newTopic('guarded');
    const producer = new GuardedProducer(kafka);
    expect(await producer.send(sendings(topic))).toEqual([]);
    const missing = await whileOneDies(topic, () => producer.send(sendings(topic)));
    expect(missing.length).toBeGreaterThan(0);
    expect(await producer.send(missing)).toEqual([]);
    expect(await counts(asker, topic)).toEqual(partitions.map(() => 2));
    await producer.close();
  }, 180_000);

  it('is whole in the end when it goes through the queue', async () => {
    const topic = await newTopic('queued');
    const producer = new GuardedProducer(kafka);
    const queue = new SendQueue(producer, waitMs);
    await queue.add(partitions.map((partition) => outgoing(topic, partition, 'first')));
    await whileOneDies(topic, () => queue.add(partitions.map((partition) => outgoing(topic, partition, 'second'))));
    for (const count of await counts(asker, topic)) expect(count).toBeGreaterThanOrEqual(2);
    await producer.close();
  }, 180_000);
});

describeOnOwnServers('an answer of the broker that is lost while more waits to be sent', () => {
  let kafka: KafkaServers;
  let link: Link;
  let asker: Asker;
  beforeAll(async () => {
    const [port] = await freePorts(1);
    link = await Link.to(() => port!);
    kafka = await startKafka({ folder: await folder(), brokers: 1, ports: [port!], advertised: [link.port] });
    asker = new Asker(kafka);
  }, 120_000);
  afterAll(async () => {
    await asker?.close();
    link?.close();
    await kafka?.stop();
  }, 60_000);

  const newTopic = async (topic: string): Promise<string> => {
    await asker.ask((admin) => admin.createTopics({ topics: [{ topic, numPartitions: 1 }] }));
    return topic;
  };
  /** Sends three records; the answer to the second one is lost, and the third waits for it. */
  const sendThree = async (topic: string, send: (value: string) => Promise<unknown>): Promise<void> => {
    await send('first');
    link.holdAnswers();
    const second = send('second');
    const unheld = new Asker(kafka);
    await until('the second one is in the log', async () => (await counts(unheld, topic))[0] === 2);
    await unheld.close();
    const third = send('third');
    await setImmediate();
    link.cut();
    await Promise.all([second, third]);
  };

  it('has kafkajs alone acknowledge what is nowhere', async () => {
    const topic = await newTopic('plain');
    const client = newClient(kafka);
    const producer = plain(client);
    await producer.connect();
    await sendThree(topic, (value) => producer.send({ topic, acks: -1, messages: [{ key: 'k', value, partition: 0 }] }));
    client.cut();
    expect(await values(topic)).toEqual(['first', 'second', 'second']);
  }, 60_000);

  it('loses and doubles nothing with one send at a time', async () => {
    const topic = await newTopic('queued');
    const producer = new GuardedProducer(kafka);
    const queue = new SendQueue(producer, waitMs);
    await sendThree(topic, (value) => queue.add([outgoing(topic, 0, value)]));
    await producer.close();
    expect(await values(topic)).toEqual(['first', 'second', 'third']);
  }, 60_000);

  /** What a topic of one partition holds, read by kafkajs alone. */
  async function values(topic: string): Promise<string[]> {
    const client = newClient(kafka);
    const consumer = client.kafka.consumer({ groupId: `reader-of-${topic}` });
    const [end] = await counts(asker, topic);
    const found: string[] = [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void found.push(String(message.value)) });
    await until('all of it is read', () => found.length >= end!);
    await consumer.disconnect();
    return found;
  }
});
