import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { entry, on, Runner, type Entry } from '#log';
import type { Source } from '#model';
import { describeOnKafka, LogConsumer, until } from '#testing';
import { sources, sourcesGroup } from '#topics';
import { Asker } from './asker.js';
import { newClient, type Client } from './client.js';
import { kafkajs } from './kafkajs.js';
import { openKafka, type KafkaStorage } from './open-kafka.js';
import { testOptions } from './open-test-log.js';
import { setOffsets } from './groups.js';

const seen = (sourceId: string): Entry<Source> => entry(sources, { orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs: 1 });

describeOnKafka('a log that others write into', () => {
  const topic = { ...sources, partitions: 1 };
  let options: ReturnType<typeof testOptions>;
  let kafka: KafkaStorage;
  let client: Client;
  let name: string;
  let reports: string[];
  beforeEach(async () => {
    reports = [];
    options = { ...testOptions([topic]), sessionMs: 20_000, report: (message) => reports.push(message) };
    name = options.prefix + topic.name;
    kafka = await openKafka(options);
    client = newClient(options);
  });
  afterEach(async () => {
    client.cut();
    await kafka.close();
  });

  const append = (...names: string[]): Promise<void> => kafka.log.append(names.map((sourceId) => ({ ...seen(sourceId), topic })));
  const join = (): Promise<LogConsumer> => LogConsumer.join(kafka.log, { group: 'g', topics: [topic] });
  const keys = ({ records }: LogConsumer): string[] => records.map(({ key }) => key);

  const transact = async (how: 'commit' | 'abort', value: Buffer): Promise<void> => {
    const producer = client.kafka.producer({ transactionalId: `${options.prefix}writer`, maxInFlightRequests: 1, idempotent: true });
    await producer.connect();
    const transaction = await producer.transaction();
    await transaction.send({ topic: name, messages: [{ key: 'o/a', value }] });
    await transaction[how]();
    await producer.disconnect();
  };

  it.each(['commits', 'aborts'] as const)('a group comes to the end of a transaction that %s', async (how) => {
    const consumer = await join();
    await append('a');
    await consumer.has(1);
    await transact(how === 'commits' ? 'commit' : 'abort', Buffer.from(kafka.log.encoded(consumer.records[0]!)));
    const end = async (): Promise<number> => [...(await kafka.groups.ends([topic.name])).values()][0]![0]!.high;
    await until('the mark is there', async () => (await end()) === 3);
    await consumer.subscription.caughtUp();
    expect(keys(consumer)).toEqual(how === 'commits' ? ['o/a', 'o/a'] : ['o/a']);
    await consumer.commit();
    await until('it lags by nothing', async () => (await consumer.subscription.lag()) === 0);
  });

  it('a record that is too large for a dead letter leaves its beginning, and the partition goes on', async () => {
    const bytes = 3 << 20;
    const producer = client.kafka.producer();
    await producer.connect();
    const messages = [{ key: 'o/a', value: Buffer.alloc(bytes, 1) }];
    await producer.send({ topic: name, compression: kafkajs.CompressionTypes.ZSTD, messages });
    await append('b');
    const processed: string[] = [];
    const processor = {
      group: { ...sourcesGroup, name: 'g', inputs: [topic] },
      inputs: [on(topic, async (records) => void processed.push(...records.map(({ key }) => key)))],
      checkpoint: () => Promise.resolve(),
    };
    const runner = new Runner(kafka.log, processor, { checkpointMs: 1e6, report: (message) => reports.push(message) });
    await runner.start();
    await until('the next one is processed', () => processed.length === 1);
    const [letter] = (await kafka.deadLetters.newest(topic, 1)).newest;
    expect([letter!.key, letter!.bytes.length, letter!.headers['bytes'], letter!.headers['offset']]).toEqual([
      'o/a',
      1_000_000,
      String(bytes),
      '0',
    ]);
    expect(await kafka.deadLetters.redrive(topic)).toEqual({ redriven: 0, left: 1, before: false });
    await runner.stop();
  });

  it('a group that has read further than its log goes begins at the beginning, and says so', async () => {
    await append('a', 'b');
    await setOffsets(options, `${options.prefix}g`, [{ topic: name, partition: 0, offset: 100 }]);
    const consumer = await join();
    await consumer.has(2);
    await append('c');
    await consumer.has(3);
    expect(keys(consumer)).toEqual(['o/a', 'o/b', 'o/c']);
    expect(reports).toEqual([
      expect.stringContaining(`partition 0 of ${name} ends before what the group ${options.prefix}g has read of it`),
    ]);
    await consumer.commit();
    expect(await consumer.subscription.lag()).toBe(0);
  });

  const makeAnew = async (asker: Asker): Promise<void> => {
    await asker.ask((admin) => admin.deleteTopics({ topics: [name] }));
    await until('it is gone', async () => !(await asker.ask((admin) => admin.listTopics())).includes(name));
    await asker.ask((admin) =>
      admin.createTopics({ topics: [{ topic: name, numPartitions: 1, configEntries: [{ name: 'cleanup.policy', value: 'compact' }] }] }),
    );
  };

  it('a group whose log loses its end while it is read begins at the beginning, and says so', async () => {
    const consumer = await join();
    await append('a', 'b', 'c');
    await consumer.has(3);
    const asker = new Asker(options);
    await makeAnew(asker);
    await asker.close();
    const again = await openKafka(options);
    await again.log.append([{ ...seen('d'), topic }]);
    await consumer.has(4);
    await again.close();
    expect(keys(consumer)).toEqual(['o/a', 'o/b', 'o/c', 'o/d']);
    expect(reports).toContainEqual(
      expect.stringContaining(`partition 0 of ${name} ends before what the group ${options.prefix}g has read of it`),
    );
  });

  it('two groups that have come equally far, and one that begins again, each get every record once', async () => {
    const [one, other] = [await join(), await LogConsumer.join(kafka.log, { group: 'other', topics: [topic] })];
    await append('a', 'b', 'c');
    await Promise.all([one.has(3), other.has(3)]);
    const late = await LogConsumer.join(kafka.log, { group: 'late', topics: [topic] });
    await append('d');
    await Promise.all([one.has(4), other.has(4), late.has(4)]);
    expect([one, other, late].map(keys)).toEqual(Array.from({ length: 3 }, () => ['o/a', 'o/b', 'o/c', 'o/d']));
  });

  it.each<[string, () => Promise<void>]>([
    [
      'a record',
      async () => {
        const again = await openKafka(options);
        await again.log.append([{ ...seen('d'), topic }]);
        await again.close();
      },
    ],
    ['nothing but marks of transactions', () => transact('abort', Buffer.from('given up'))],
  ])('a view of a log that has lost its end and got %s gets old, for it may show what is deleted', async (_, write) => {
    await append('a', 'b', 'c');
    const view = kafka.views.open(topic);
    await view.ready;
    expect([...view.scan('')].length).toBe(3);
    const asker = new Asker(options);
    await makeAnew(asker);
    await asker.close();
    await write();
    await until('it gets old', () => view.ageMs() > 8_000);
    expect(view.get('o/d')).toBeUndefined();
  });
});
