import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import type { EachMessageHandler } from 'kafkajs';
import { startKafka, type KafkaServers } from '../../../infra/servers/index.js';
import { describeOnOwnServers, until } from '#testing';
import { Asker } from '../asker.js';
import { newClient } from '../client.js';
import { GuardedProducer } from '../send/guarded-producer.js';
import { KafkaLeaders } from '../send/leaders.js';
import { SendQueue } from '../send/send-queue.js';
import { logUnavailable } from '../trouble.js';

const brokenMs = process.env['FAULTS'] === 'long' ? 60_000 : 15_000;
/** How long a call may wait before it is told that the log cannot be reached. */
const waitMs = 8_000;

/** Which brokers hold each partition, by topic: the one that leads it first. Two of them have to take a record, where there are two. */
const replicas = {
  alone: [[1], [2]],
  two: [
    [2, 1],
    [2, 3],
    [3, 2],
  ],
  three: [[1, 2, 3]],
};
const names = Object.keys(replicas) as readonly (keyof typeof replicas)[];
const partitions = names.flatMap((name) =>
  replicas[name].map((of, partition) => ({ name, partition, leader: of[0]!, says: `${name}/${partition}` })),
);
/** With the first broker this one loses its leader, and another one takes over. */
const moving = 'three/0';
/** Whether the records of each other partition are refused without the first broker: nobody leads the one, and the other one has too few. */
const isRefused = { 'alone/0': true, 'alone/1': false, 'two/0': true, 'two/1': false, 'two/2': false };

/** What became of the records of one partition. */
interface Fate {
  readonly says: string;
  readonly taken: string[];
  refused: number;
  longestMs: number;
}

describeOnOwnServers('three brokers of which the first one', () => {
  let kafka: KafkaServers;
  let asker: Asker;
  let queue: SendQueue;
  let prefix: string;
  let stop: (() => Promise<void>) | undefined;
  let end: (() => Promise<void>) | undefined;
  beforeAll(async () => {
    kafka = await startKafka({ folder: await mkdtemp(join(tmpdir(), 'headwater-kafka-')), brokers: 3 });
    asker = new Asker(kafka);
  }, 120_000);
  afterAll(async () => {
    await asker?.close();
    await kafka?.stop();
  }, 60_000);
  beforeEach(async () => {
    prefix = randomBytes(6).toString('hex');
    const topics = names.map((name) => ({
      topic: prefix + name,
      replicaAssignment: replicas[name].map((of, partition) => ({ partition, replicas: of })),
      configEntries: [{ name: 'min.insync.replicas', value: String(Math.min(2, replicas[name][0]!.length)) }],
    }));
    await asker.ask((admin) => admin.createTopics({ topics }));
    await until('all partitions are led as they should be', async () => {
      const found = await Promise.all(partitions.map(leaderOf));
      return partitions.every(({ leader }, at) => leader === found[at]);
    });
    const leaders = new KafkaLeaders(
      asker,
      topics.map(({ topic }) => topic),
    );
    await leaders.refresh();
    queue = new SendQueue({ newProducer: () => new GuardedProducer(kafka), leaders, waitMs });
  }, 60_000);
  afterEach(async () => {
    queue.crash(logUnavailable('The test is over.'));
    await stop?.();
    await end?.();
  });

  async function leaderOf({ name, partition }: { readonly name: string; readonly partition: number }): Promise<number | undefined> {
    const { topics } = await asker.ask((admin) => admin.fetchTopicMetadata({ topics: [prefix + name] }));
    return topics[0]!.partitions.find(({ partitionId }) => partitionId === partition)?.leader;
  }

  /** Sends records to every partition, some at a time, until the test stops it. */
  function load(): readonly Fate[] {
    const fates = partitions.map(({ says }): Fate => ({ says, taken: [], refused: 0, longestMs: 0 }));
    const stopping = new AbortController();
    const send = async (at: number, writer: number): Promise<void> => {
      const [fate, { name, partition }] = [fates[at]!, partitions[at]!];
      for (let n = 0; !stopping.signal.aborted; n++) {
        const value = `${writer} ${n}`;
        const begunMs = performance.now();
        await queue.add([{ topic: prefix + name, partition, bytes: 100, message: { key: 'k', value, partition } }]).then(
          () => fate.taken.push(value),
          () => fate.refused++,
        );
        fate.longestMs = Math.max(fate.longestMs, performance.now() - begunMs);
        await pause(20);
      }
    };
    const all = Promise.all(partitions.flatMap((_, at) => [0, 1, 2].map((writer) => send(at, writer))));
    stop = async () => {
      stopping.abort();
      await all;
    };
    return fates;
  }

  /** Reads the partitions as a member of a group, until the test is over; what each holds, by offset. */
  async function read(): Promise<readonly ReadonlyMap<number, string>[]> {
    const found = new Map(partitions.map(({ says }) => [prefix + says, new Map<number, string>()]));
    const client = newClient(kafka);
    const consumer = client.kafka.consumer({ groupId: `reader-${prefix}`, maxWaitTimeInMs: 100 });
    await consumer.connect();
    await consumer.subscribe({ topics: names.map((name) => prefix + name), fromBeginning: true });
    const eachMessage: EachMessageHandler = async ({ topic, partition, message: { offset, value } }) =>
      void found.get(`${topic}/${partition}`)!.set(Number(offset), String(value));
    await consumer.run({ eachMessage });
    end = async () => {
      await consumer.disconnect();
      client.cut();
    };
    return [...found.values()];
  }

  it.each([
    ['dies', 'SIGKILL'],
    ['freezes', 'SIGSTOP'],
  ] as const)(
    '%s has only the partitions that need it wait, until it is back',
    async (how, signal) => {
      const held = await read();
      const fates = load();
      await until('all partitions take records', () => fates.every(({ taken }) => taken.length > 20));
      for (const fate of fates) fate.longestMs = 0;
      const [broker] = kafka.servers;
      const before = fates.map(({ taken }) => taken.length);
      await broker!.kill(signal);
      await pause(brokenMs);
      const after = fates.map(({ taken }) => taken.length);
      const waits = fates.map(({ says, refused, longestMs }) => `${says} ${Math.round(longestMs)} ms, ${refused} refused`);
      process.stderr.write(`while the first broker ${how}, records waited for at most: ${waits.join('; ')}\n`);
      const others = fates.filter(({ says }) => says !== moving);
      expect(Object.fromEntries(others.map(({ says, refused }) => [says, refused > 0]))).toEqual(isRefused);
      const moved = fates.findIndex(({ says }) => says === moving);
      await until('the partition that has moved takes records', () => fates[moved]!.taken.length > before[moved]!);
      expect([queue.failure, queue.partialFailure]).toEqual([undefined, expect.objectContaining({ error: expect.any(Error) })]);

      if (signal === 'SIGSTOP') await broker!.kill('SIGCONT');
      else await broker!.start();
      await until('all partitions take records again', () => fates.every(({ taken }, at) => taken.length > after[at]! + 20));
      await stop?.();
      await until('all of it is read', () =>
        fates.every(({ taken }, at) => {
          const values = new Set(held[at]!.values());
          return taken.every((value) => values.has(value));
        }),
      );
      for (const values of held) {
        for (const writer of ['0 ', '1 ', '2 ']) {
          const numbers = [...values.values()].filter((value) => value.startsWith(writer)).map((value) => Number(value.slice(2)));
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
      }
      expect(queue.figures().bytes).toBe(0);
    },
    180_000 + brokenMs,
  );
});
