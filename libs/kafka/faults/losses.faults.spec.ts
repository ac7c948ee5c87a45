import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Message, Producer } from 'kafkajs';
import { freePorts, startKafka, type KafkaServers } from '../../../infra/servers/index.js';
import { describeOnOwnServers, isLong, Link, saslSsl, until } from '#testing';
import { AvroCodec, sources } from '#topics';
import { Asker } from '../asker.js';
import { newClient, type Client, type KafkaAddress } from '../client.js';
import { GuardedProducer, type Sending } from '../send/guarded-producer.js';
import { KafkaLog } from '../kafka-log.js';
import { KafkaLeaders } from '../send/leaders.js';
import { SendQueue } from '../send/send-queue.js';
import { logUnavailable } from '../trouble.js';

const partitions = Array.from({ length: 12 }, (_, n) => n);
const waitMs = 60_000;
const tooLarge = randomBytes(2 << 20);

const record = (partition: number, value: string | Buffer): Message => ({ key: 'k', value, partition });

/** Sends as kafkajs does, without a guard. */
const sendPlain = (producer: Producer, topic: string, messages: Message[]): ReturnType<Producer['sendBatch']> =>
  producer.sendBatch({ acks: -1, topicMessages: [{ topic, messages }] });

/** Each of these is what kafkajs loses without one of our guards, and what becomes of the same with it. */
describeOnOwnServers.each([
  ['three brokers', undefined],
  ...(isLong ? [['three brokers with TLS that want a password', saslSsl()] as const] : []),
] as const)('%s', (_brokers, secured) => {
  let kafka: KafkaServers;
  let address: KafkaAddress;
  let links: Link[];
  let asker: Asker;
  let client: Client;
  let plain: Producer;
  let guarded: GuardedProducer;
  let queue: SendQueue | undefined;
  let topic: string;
  beforeAll(async () => {
    const ports = await freePorts(3);
    links = await Promise.all(ports.map((port) => Link.to(() => port)));
    const folder = await mkdtemp(join(tmpdir(), 'headwater-kafka-'));
    kafka = await startKafka({ folder, brokers: 3, ports, advertised: links.map(({ port }) => port), security: secured?.security });
    address = { brokers: kafka.brokers, ...secured?.access };
    asker = new Asker(address);
  }, 120_000);
  afterAll(async () => {
    await asker?.close();
    for (const link of links ?? []) link.close();
    await kafka?.stop();
  }, 60_000);
  beforeEach(async () => {
    topic = await newTopic();
    client = newClient(address);
    plain = client.kafka.producer({
      idempotent: true,
      createPartitioner:
        () =>
        ({ message }) =>
          message.partition!,
    });
    await plain.connect();
    guarded = new GuardedProducer(address);
  }, 60_000);
  afterEach(async () => {
    client.cut();
    await guarded.close();
    queue?.crash(logUnavailable('The test is over.'));
  });

  const openQueue = (): SendQueue =>
    (queue = new SendQueue({ newProducer: () => new GuardedProducer(address), leaders: new KafkaLeaders(asker, [topic]), waitMs }));

  async function newTopic(): Promise<string> {
    const name = `t${randomBytes(6).toString('hex')}`;
    const configEntries = [{ name: 'min.insync.replicas', value: '2' }];
    const config = { topic: name, numPartitions: partitions.length, replicationFactor: 3, configEntries };
    await asker.ask((admin) => admin.createTopics({ topics: [config] }));
    await until('each leads some partitions', async () => new Set(await leaders(name)).size === 3);
    return name;
  }

  /** The number of the broker that leads, of each partition. */
  async function leaders(name = topic): Promise<number[]> {
    const { topics } = await asker.ask((admin) => admin.fetchTopicMetadata({ topics: [name] }));
    return topics[0]!.partitions.toSorted((a, b) => a.partitionId - b.partitionId).map(({ leader }) => leader);
  }

  /** Records in each partition. */
  async function counts(through = asker): Promise<number[]> {
    return (await through.extentsOf([topic])).get(topic)!.map(({ high }) => high);
  }

  /** What the topic holds, read by kafkajs alone. */
  async function values(): Promise<string[]> {
    const consumer = client.kafka.consumer({ groupId: `reader-of-${topic}`, maxWaitTimeInMs: 100 });
    const total = (await counts()).reduce((sum, count) => sum + count, 0);
    const found: string[] = [];
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ eachMessage: async ({ message }) => void found.push(String(message.value)) });
    await until('all of it is read', () => found.length >= total);
    await consumer.disconnect();
    return found;
  }

  describe('that refused something of a producer', () => {
    /** Two partitions of one broker. */
    const neighbours = async (): Promise<readonly [number, number]> => {
      const all = await leaders();
      return [0, all.lastIndexOf(all[0]!)];
    };

    it('lose the next record of a partition that is fine, which kafkajs alone says is written', async () => {
      const [one, other] = await neighbours();
      await expect(sendPlain(plain, topic, [record(one, tooLarge), record(other, 'first')])).rejects.toThrow('larger than');
      await sendPlain(plain, topic, [record(other, 'second')]);
      expect(await values()).toEqual(['first']);
    });

    it('lose nothing with a new producer after every error', async () => {
      const [one, other] = await neighbours();
      const send = (partition: number, value: string | Buffer): Sending => ({ topic, partition, messages: [record(partition, value)] });
      const refused = await guarded.send([send(one, tooLarge), send(other, 'first')]);
      expect(Array.from(refused, ([{ partition }, { message }]) => [partition, message])).toEqual([
        [one, expect.stringContaining('larger than')],
      ]);
      expect((await guarded.send([send(other, 'second')])).size).toBe(0);
      expect(await values()).toEqual(['first', 'second']);
    });
  });

  describe('that are given what is too large', () => {
    const half = randomBytes(600_000);

    it.each([
      ['one record', () => [record(0, 'before'), record(0, tooLarge), record(0, 'after')]],
      ['many together', () => [record(0, half), record(0, 'between'), record(0, half)]],
    ])('lose all that kafkajs alone sends to the partition with it: %s', async (_, messages) => {
      const other = (await leaders()).findIndex((leader, _at, [first]) => leader !== first);
      await expect(sendPlain(plain, topic, [...messages(), record(other, 'elsewhere')])).rejects.toThrow('larger than');
      await until('the rest is written', async () => (await counts())[other] === 1);
      expect(await values()).toEqual(['elsewhere']);
    });

    it('get the others when sizes are looked at first', async () => {
      const registry = { register: async (): Promise<number> => 1, schema: async (): Promise<undefined> => undefined };
      const log = new KafkaLog({
        address,
        topics: [{ ...sources, name: topic, partitions: partitions.length }],
        codec: AvroCodec.open(registry, []),
        asker,
        sessionMs: 10_000,
        waitMs,
        report: () => undefined,
      });
      const given = [Buffer.from('before'), tooLarge, Buffer.from('after'), half, Buffer.from('between'), half];
      const outcomes = await Promise.allSettled(given.map((bytes) => log.appendBytes(topic, 'k', bytes, {})));
      expect(outcomes.map((one) => (one.status === 'rejected' ? (one.reason as Error).name : 'written'))).toEqual(
        given.map((bytes) => (bytes === tooLarge ? 'RangeError' : 'written')),
      );
      expect(log.queue.figures()).toMatchObject({ records: 5, failures: 0 });
      expect(await values()).toEqual(['before', 'after', String(half), 'between', String(half)]);
      await log.close();
    });
  });

  describe('of which one loses its answer while more waits to be sent', () => {
    /** Sends three records to one partition; the answer to the second one is lost, and the third waits for it. */
    const sendThree = async (send: (value: string) => Promise<unknown>): Promise<void> => {
      const link = links[(await leaders())[0]! - 1]!;
      await send('first');
      link.holdAnswers();
      const second = send('second');
      const unheld = new Asker(address);
      await until('the second one is in the log', async () => (await counts(unheld))[0] === 2);
      await unheld.close();
      const third = send('third');
      await setImmediate();
      link.cut();
      await Promise.all([second, third]);
    };

    it('lose a record that kafkajs alone says is written', async () => {
      await sendThree((value) => sendPlain(plain, topic, [record(0, value)]));
      expect(await values()).toEqual(['first', 'second', 'second']);
    }, 60_000);

    it('lose and double nothing with one send at a time', async () => {
      const opened = openQueue();
      await sendThree((value) => opened.add([{ topic, partition: 0, bytes: 100, message: record(0, value) }]));
      expect(await values()).toEqual(['first', 'second', 'third']);
    }, 60_000);
  });

  describe('of which one freezes and dies during a send over all', () => {
    const toAll = (): Message[] => partitions.map((partition) => record(partition, `to ${partition}`));

    /** Runs `send` while the first broker is frozen and then killed, and brings it back. */
    const whileOneDies = async <T>(send: () => Promise<T>): Promise<T> => {
      const [broker] = kafka.servers;
      await broker!.kill('SIGSTOP');
      try {
        const sent = send();
        await until('the others lead all partitions', async () => !(await leaders()).includes(1));
        await broker!.kill('SIGKILL');
        return await sent;
      } finally {
        await broker!.kill('SIGKILL');
        await broker!.start();
        await until('it leads again', async () => (await leaders()).every((leader) => leader > 0));
      }
    };

    it('lose a part of it although it resolves in kafkajs alone, whose answer leaves that part out', async () => {
      let lost: number[] = [];
      let answered: number[] = [];
      // It depends on how far kafkajs has come when the broker dies.
      for (let tries = 0; lost.length === 0 && tries < 10; tries++) {
        const takesAll = (): Promise<boolean> =>
          sendPlain(plain, topic, toAll()).then(
            () => true,
            () => false,
          );
        await until('kafkajs knows who leads since the last try', takesAll);
        const before = await counts();
        answered = (await whileOneDies(() => sendPlain(plain, topic, toAll()))).map(({ partition }) => partition);
        const after = await counts();
        lost = partitions.filter((partition) => after[partition] === before[partition]);
      }
      expect(lost).not.toEqual([]);
      expect(answered.filter((partition) => lost.includes(partition))).toEqual([]);
    }, 360_000);

    it('lose nothing when the answer is compared with what was sent, and the rest is sent again', async () => {
      const opened = openQueue();
      const add = (): Promise<void> =>
        opened.add(toAll().map((message) => ({ topic, partition: message.partition!, bytes: 100, message })));
      await add();
      await whileOneDies(add);
      expect(opened.figures().sends).toBeGreaterThan(2);
      for (const count of await counts()) expect(count).toBeGreaterThanOrEqual(2);
    }, 180_000);
  });
});
