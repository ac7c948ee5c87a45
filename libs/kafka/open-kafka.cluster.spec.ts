import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { entry, partitionOf, tombstone, type AnyTopic, type Entry } from '#log';
import { noTags, type EventBatch, type Lease, type Source } from '#model';
import { describeOnKafka, LogConsumer, until } from '#testing';
import { events, sources } from '#topics';
import { Asker } from './asker.js';
import { newClient } from './client.js';
import { kafkajs } from './kafkajs.js';
import { openKafka, type KafkaOptions, type KafkaStorage } from './open-kafka.js';
import { testOptions } from './open-test-log.js';
import { setSettings, settingsOf, type Settings } from './topic-settings.js';

const nowhere = 'http://127.0.0.1:9';
const few: AnyTopic = { ...events, partitions: 3 };

async function listening(listener: RequestListener): Promise<{ readonly api: Server; readonly url: string }> {
  const api = createServer(listener).listen(0, '127.0.0.1');
  await once(api, 'listening');
  return { api, url: `http://127.0.0.1:${(api.address() as AddressInfo).port}` };
}

async function forward(base: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url, method = 'GET' } = request;
  const body = method === 'GET' ? null : await text(request);
  const answer = await fetch(base + url!, { method, headers: { 'content-type': 'application/json' }, body });
  response.writeHead(answer.status).end(await answer.text());
}

const said = (sourceId: string, n: number): Entry<EventBatch> =>
  entry(events, {
    orgId: 'o',
    sourceId,
    receivedMs: n,
    origin: 'source',
    events: [{ metric: 'said', timestampMs: n, value: 'x', isJson: false, tags: '', place: 0, ordinal: 0 }],
  });
const seen = (sourceId: string): Entry<Source> => entry(sources, { orgId: 'o', sourceId, firstReceivedMs: 1, lastReceivedMs: 1 });

describeOnKafka('a log in Kafka', () => {
  let options: KafkaOptions;
  let reports: string[];
  let opened: KafkaStorage[];
  beforeEach(() => {
    reports = [];
    opened = [];
    options = { ...testOptions([sources, few]), report: (message) => reports.push(message) };
  });
  afterEach(async () => {
    await Promise.all(opened.map((kafka) => kafka.close()));
  });

  const open = async (more: Partial<KafkaOptions> = {}): Promise<KafkaStorage> => {
    const kafka = await openKafka({ ...options, ...more });
    opened.push(kafka);
    return kafka;
  };

  describe('has its topics', () => {
    it('made at the first start with those for dead letters, and left alone afterwards', async () => {
      const kafka = await open();
      const names = ['sources.v1', 'sources.v1.dlq', 'telemetry.events.v1', 'telemetry.events.v1.dlq'];
      const ends = await kafka.groups.ends(names);
      expect([...ends.values()].map((extents) => extents.length)).toEqual([24, 1, 3, 1]);
      await kafka.log.append([seen('a')]);
      const [extents] = (await (await open()).groups.ends(['sources.v1'])).values();
      expect(Math.max(...extents!.map(({ high }) => high))).toBe(1);
      expect(reports).toEqual([]);
    });

    describe('asked for their ends', () => {
      const named = (...names: string[]): string[] => names.map((name) => options.prefix + name);
      let asker: Asker;
      beforeEach(async () => {
        await open();
        asker = new Asker(options);
      });
      afterEach(() => asker.close());

      it.each([
        [
          'one after the other, with two requests each time',
          3,
          async (ask: () => Promise<unknown>) => void (await ask(), await ask(), await ask()),
        ],
        ['by several at once, with two requests in all', 1, (ask: () => Promise<unknown>) => Promise.all([ask(), ask(), ask()])],
      ])('%s', async (_, questions, all) => {
        const asked: string[] = [];
        await asker.ask(async (admin) => void admin.on(admin.events.REQUEST, ({ payload }) => asked.push(payload.apiName)));
        await all(() => asker.extentsOf(named('sources.v1', 'telemetry.events.v1')));
        const lists = Array<string>(2 * questions).fill('ListOffsets');
        expect(asked.filter((name) => name === 'Metadata' || name === 'ListOffsets')).toEqual(['Metadata', ...lists]);
      });

      it('with an answer for those that are there, whoever asks in the same moment for one that is not', async () => {
        const missing = asker.extentsOf(named('none.v1')).catch((error: Error) => error);
        const found = await asker.extentsOf(named('sources.v1'));
        expect([...found]).toMatchObject([[`${options.prefix}sources.v1`, { length: 24 }]]);
        await asker.close();
        await expect(missing).resolves.toMatchObject({ code: 'log_unavailable' });
      });
    });

    it('with another number of partitions, and does not start', async () => {
      await open();
      const sentence = `topic ${options.prefix}telemetry.events.v1 has 3 partitions, and the contract says 24: another number puts keys elsewhere`;
      await expect(open({ topics: [sources, events] })).rejects.toThrow(sentence);
    });

    describe('with other settings', () => {
      let asker: Asker;
      beforeEach(() => void (asker = new Asker(options)));
      afterEach(() => asker.close());
      const set = (name: string, values: Record<string, string>): Promise<void> =>
        asker.ask((admin) => setSettings(admin, options.prefix + name, new Map(Object.entries(values))));
      const settings = async (name: string): Promise<Settings> =>
        (await asker.ask((admin) => settingsOf(admin, [options.prefix + name]))).get(options.prefix + name)!;

      it.each([
        ['sources.v1', 'cleanup.policy', 'compact,delete', 'not compact: keys that nobody has deleted would vanish with their age'],
        ['telemetry.events.v1', 'cleanup.policy', 'compact', 'not delete: all but the newest record of each source would vanish'],
        ['sources.v1', 'unclean.leader.election.enable', 'true', 'not false: a broker that missed acknowledged records could'],
      ])('that would lose records unseen, and does not start: %s %s=%s', async (name, setting, value, why) => {
        await open();
        await set(name, { ...(name === 'sources.v1' && { 'cleanup.policy': 'compact' }), [setting]: value });
        await expect(open()).rejects.toThrow(`topic ${options.prefix}${name} has ${setting}=${value}, ${why}`);
      });

      it("that break another promise, and says which; how long telemetry is kept is the operator's choice", async () => {
        await open();
        await set('sources.v1', { 'cleanup.policy': 'compact', 'delete.retention.ms': '60000', 'segment.ms': '1000' });
        await set('telemetry.events.v1', { 'retention.ms': '3600000', 'retention.bytes': '1000000000' });
        await open();
        expect(reports).toEqual([
          expect.stringContaining('sources.v1 has message.timestamp.type=CreateTime, not LogAppendTime: records of a writer'),
          expect.stringContaining('sources.v1 has delete.retention.ms=60000, not 86400000: roles that do not hear Kafka for half of that'),
          expect.stringContaining('telemetry.events.v1 has message.timestamp.type=CreateTime'),
        ]);
      });

      it('which it sets where it is asked to, and leaves the others as they are', async () => {
        await open();
        await set('sources.v1', { 'cleanup.policy': 'delete', 'segment.ms': '1000' });
        await open({ correctTopics: true });
        const { own } = await settings('sources.v1');
        expect(Object.fromEntries(own)).toEqual({
          'cleanup.policy': 'compact',
          'message.timestamp.type': 'LogAppendTime',
          'segment.ms': '1000',
        });
        expect(reports).toEqual([
          `topic ${options.prefix}sources.v1 had cleanup.policy=delete, and has compact now`,
          `topic ${options.prefix}sources.v1 had message.timestamp.type=CreateTime, and has LogAppendTime now`,
        ]);
        await open();
        expect(reports.length).toBe(2);
      });

      it("made so: every setting that a promise rests on is the topic's own", async () => {
        await open();
        expect(Object.fromEntries((await settings('sources.v1')).own)).toMatchObject({
          'cleanup.policy': 'compact',
          'unclean.leader.election.enable': 'false',
          'min.insync.replicas': '1',
          'delete.retention.ms': '86400000',
          'max.compaction.lag.ms': '604800000',
          'segment.bytes': '67108864',
          'segment.ms': '86400000',
          'max.message.bytes': '1048588',
        });
        expect(Object.fromEntries((await settings('telemetry.events.v1')).own)).toMatchObject({
          'retention.ms': '-1',
          'retention.bytes': '-1',
        });
      });
    });

    it('with other numbers of copies, and says which', async () => {
      await open({ topics: [few] });
      await open({ topics: [few], replicationFactor: 3 });
      const names = [few.name, `${few.name}.dlq`].map((name) => options.prefix + name);
      expect(reports).toEqual(names.map((name) => `topic ${name} has replication.factor=1, and the setting says 3`));
    });
  });

  describe('has its schemas', () => {
    const level = async (subject: string): Promise<unknown> => (await fetch(`${options.registry.url}/config/${subject}`)).json();

    it('registered under the name of the topic, each at its level', async () => {
      await open();
      expect(await level(`${options.prefix}sources.v1-value`)).toMatchObject({ compatibilityLevel: 'BACKWARD_TRANSITIVE' });
    });

    it('in common with clients that are not ours, both ways', async () => {
      const kafka = await open();
      const registry = new SchemaRegistry({ host: options.registry.url });
      const consumer = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
      await kafka.log.append([seen('ours')]);
      await consumer.has(1);
      const bytes = Buffer.from(kafka.log.encoded(consumer.records[0]!));
      expect(await registry.decode(bytes)).toMatchObject({ org_id: 'o', source_id: 'ours', first_received_ms: 1 });

      const theirs = { org_id: 'o', source_id: 'theirs', first_received_ms: 2, last_received_ms: 3 };
      const value = await registry.encode(bytes.readUInt32BE(1), theirs);
      const producer = newClient(options).kafka.producer();
      await producer.connect();
      await producer.send({ topic: `${options.prefix}sources.v1`, messages: [{ key: 'o/theirs', value }] });
      await producer.disconnect();
      await consumer.has(2);
      expect(consumer.records[1]!.value).toEqual({ orgId: 'o', sourceId: 'theirs', firstReceivedMs: 2, lastReceivedMs: 3, heardIn: null });
    });

    it('but not from a producer that chooses partitions in its own way: two would own the same source', async () => {
      const kafka = await open();
      const consumer = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
      await kafka.log.append([seen('a')]);
      await consumer.has(1);
      const [ours] = consumer.records;
      const partition = (ours!.partition + 1) % sources.partitions;
      const producer = newClient(options).kafka.producer();
      await producer.connect();
      const value = Buffer.from(kafka.log.encoded(ours!));
      await producer.send({ topic: `${options.prefix}sources.v1`, messages: [{ key: 'o/a', value, partition }] });
      await producer.disconnect();
      await until('it is handed over', () => consumer.unreadable.length === 1);
      const reason = `The key belongs to partition ${ours!.partition}: a producer must choose partitions as Kafka's own does (murmur2).`;
      expect(consumer.unreadable[0]).toMatchObject({ key: 'o/a', partition, reason });
    });

    it('and refuses a record whose schema the registry does not have', async () => {
      const { log } = await open();
      const consumer = await LogConsumer.join(log, { group: 'g', topics: [sources] });
      await log.appendBytes(sources.name, 'o/a', Buffer.from([0, 0x7f, 0xff, 0xff, 0xff, 1]), {});
      await until('it is handed over', () => consumer.unreadable.length === 1);
      expect(consumer.unreadable[0]!.reason).toBe('the registry has no schema with id 2147483647');
    });

    it('in a file, so that it starts while the registry is away', async () => {
      const schemaCacheFile = join(await mkdtemp(join(tmpdir(), 'headwater-schemas-')), 'schemas.json');
      await (await open({ schemaCacheFile })).log.append([seen('a')]);
      const again = await open({ schemaCacheFile, registry: { url: nowhere } });
      await again.log.append([seen('b')]);
      const consumer = await LogConsumer.join(again.log, { group: 'g', topics: [sources] });
      await consumer.has(2);
      expect(again.health()).toBeUndefined();
    });

    it('from nowhere at its first start while the registry is away, and says so until it is back', async () => {
      const { api, url } = await listening((_, response) => response.writeHead(503).end('{}'));
      const kafka = await open({ registry: { url }, waitMs: 3_000 });
      await until('it says so', () => kafka.health()?.startsWith('The schema registry is in trouble') === true);
      // If each waited anew, they would take longer than the test may.
      for (let n = 0; n < 50; n++) {
        await expect(kafka.log.append([seen('a')])).rejects.toMatchObject({ code: 'log_unavailable', retryAfterS: 1 });
      }
      api.removeAllListeners('request').on('request', (request, response) => void forward(options.registry.url, request, response));
      await until('it is open', () => kafka.health() === undefined);
      await kafka.log.append([seen('a')]);
      api.close();
    });
  });

  describe('knows its operator', () => {
    it('who reads dead letters and sends each back once', async () => {
      const { log, deadLetters } = await open();
      const consumer = await LogConsumer.join(log, { group: 'g', topics: [sources] });
      await log.append([seen('a')]);
      await consumer.has(1);
      const bytes = log.encoded(consumer.records[0]!);
      const headers = { topic: sources.name, partition: '0', offset: '0', group: 'g', reason: 'why not' };
      await log.appendBytes('sources.v1.dlq', 'o/a', bytes, headers);
      await log.appendBytes('sources.v1.dlq', 'o/a', bytes, { ...headers, group: 'h' });
      await log.appendBytes('sources.v1.dlq', 'o/b', new Uint8Array(), { ...headers, offset: '1' });
      await log.appendBytes('sources.v1.dlq', 'o/c', bytes, { reason: 'from nowhere' });

      const { count, newest: letters } = await deadLetters.newest(sources, 10);
      expect(count).toBe(4);
      const a = { orgId: 'o', sourceId: 'a', firstReceivedMs: 1, lastReceivedMs: 1, heardIn: null };
      expect(letters.map(({ offset, key, headers: { reason }, value }) => [offset, key, reason, value])).toEqual([
        [0, 'o/a', 'why not', a],
        [1, 'o/a', 'why not', a],
        [2, 'o/b', 'why not', undefined],
        [3, 'o/c', 'from nowhere', undefined],
      ]);
      expect(letters.map(({ parkedMs }) => Math.abs(parkedMs - Date.now()) < 600_000)).toEqual([true, true, true, true]);
      expect((await deadLetters.newest(sources, 2)).newest.map(({ key }) => key)).toEqual(['o/b', 'o/c']);

      expect(await deadLetters.redrive(sources)).toMatchObject({ redriven: 2, left: 1 });
      await consumer.has(3);
      expect(consumer.records.slice(1).map(({ key, value }) => [key, value === null])).toEqual(
        expect.arrayContaining([
          ['o/a', false],
          ['o/b', true],
        ]),
      );
      expect(await deadLetters.redrive(sources, 1)).toEqual({ redriven: 0, left: 0, before: true });
      expect(await deadLetters.redrive(sources, 4)).toMatchObject({ redriven: 0, left: 0 });
    });
  });

  describe('has groups with several members', () => {
    it('who share the partitions, the same of all topics with one, and take over from each other', async () => {
      const keys = Array.from({ length: 200 }, (_, n) => `s${n}`);
      const [one, two] = [
        await open({ topics: [sources, events], prefix: `${options.prefix}two.` }),
        await open({ topics: [sources, events], prefix: `${options.prefix}two.` }),
      ];
      const a = await LogConsumer.join(one.log, { group: 'g', topics: [sources, events] });
      const b = await LogConsumer.join(two.log, { group: 'g', topics: [sources, events] });
      await one.log.append(keys.flatMap((key) => [seen(key), said(key, 1)]));
      const places = (consumer: LogConsumer): Set<number> => new Set(consumer.records.map(({ partition }) => partition));
      await until('both have all of theirs', () => a.records.length + b.records.length >= 400);
      expect([...places(a)].filter((partition) => places(b).has(partition))).toEqual([]);
      expect(places(b).size).toBe(12);
      await a.commit();
      await b.commit(b.records.slice(0, 10));
      const missing = new Set(b.records.slice(10).map(({ topic, key }) => topic.name + key));
      await two.crash();
      await a.has(400 - 10);
      const got = new Set(a.records.map(({ topic, key }) => topic.name + key));
      expect([...missing].filter((place) => !got.has(place))).toEqual([]);
      await a.commit();
      expect(await a.subscription.lag()).toBe(0);
      await expect(b.commit()).rejects.toMatchObject({ code: 'log_unavailable' });
    });
  });

  describe('has members who may be slow', () => {
    const sessionMs = 10_000;
    const member = async (group: string): Promise<string | undefined> => {
      const client = newClient(options);
      const { groups } = await client.kafka.admin().describeGroups([`${options.prefix}${group}`]);
      client.cut();
      return groups[0]!.state === 'Stable' ? groups[0]!.members[0]!.memberId : undefined;
    };

    it('a lease that nobody can be sure of is lost, and its records come again when their handler has settled', async () => {
      const { log } = await open({ sessionMs });
      const gate = Promise.withResolvers<void>();
      const order: string[] = [];
      const leases: Lease[] = [];
      const consumer = await LogConsumer.join(log, {
        group: 'g',
        topics: [sources],
        handler: async (records, lease) => {
          leases.push(lease);
          order.push(`given ${records[0]!.key}`);
          await gate.promise;
          order.push(`settled ${records[0]!.key}`);
        },
      });
      const first = await member('g');
      await log.append([seen('a')]);
      await until('it is given', () => leases.length === 1);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, sessionMs / 2 + 500);
      expect(leases[0]!.held()).toBe(false);
      await until('it has joined again', async () => ![first, undefined].includes(await member('g')));
      gate.resolve();
      await consumer.has(2);
      expect(order.slice(0, 3)).toEqual(['given o/a', 'settled o/a', 'given o/a']);
      expect([leases[0]!.held(), leases.at(-1)!.held()]).toEqual([false, true]);
      await consumer.commit();
      expect(await consumer.subscription.lag()).toBe(0);
    });

    it('a handler that takes longer than the session keeps its lease, and other partitions go on', async () => {
      const { log } = await open({ sessionMs });
      const gate = Promise.withResolvers<void>();
      const leases = new Set<Lease>();
      const consumer = await LogConsumer.join(log, {
        group: 'g',
        topics: [sources],
        handler: (records, lease) => {
          leases.add(lease);
          return records[0]!.key === 'o/slow' ? gate.promise : Promise.resolve();
        },
      });
      const slow = partitionOf(Buffer.from('o/slow'), sources.partitions);
      const beganMs = performance.now();
      let n = 0;
      await log.append([seen('slow')]);
      await until('a session and more is over', async () => {
        await log.append([seen(`s${n++}`)]);
        return performance.now() - beganMs > 1.2 * sessionMs;
      });
      const others = Array.from({ length: n }, (_, at) => `o/s${at}`).filter(
        (key) => partitionOf(Buffer.from(key), sources.partitions) !== slow,
      );
      await consumer.has(others.length);
      expect(consumer.records.map(({ key }) => key)).not.toContain('o/slow');
      gate.resolve();
      await consumer.has(n + 1);
      expect([leases.size, [...leases][0]!.held()]).toEqual([1, true]);
    });
  });

  it('says that a group cannot be read while a batch cannot, and no more once it can; other topics go on', async () => {
    const { CompressionCodecs, CompressionTypes } = kafkajs;
    const kafka = await open();
    const consumer = await LogConsumer.join(kafka.log, { group: 'g', topics: [sources] });
    const other = await LogConsumer.join(kafka.log, { group: 'other', topics: [few] });
    const zstd = CompressionCodecs[CompressionTypes.ZSTD];
    CompressionCodecs[CompressionTypes.ZSTD] = () => ({
      ...zstd(),
      decompress: () => Promise.reject(new kafkajs.KafkaJSNonRetriableError('a batch of sand')),
    });
    try {
      await kafka.log.appendBytes(sources.name, 'o/a', Buffer.alloc(100_000), {});
      await until('it says so', () => kafka.health()?.endsWith('cannot read: a batch of sand') === true);
      await kafka.log.append([{ ...said('a', 1), topic: few }]);
      await other.has(1);
      expect(kafka.health()).toMatch(/group .*g cannot read: a batch of sand$/);
    } finally {
      CompressionCodecs[CompressionTypes.ZSTD] = zstd;
    }
    await until('it is given', () => consumer.unreadable.length === 1);
    await until('all is well', () => kafka.health() === undefined);
    expect(consumer.unreadable[0]!.bytes.length).toBe(100_000);
  });

  it('compresses what is not small with zstd', async () => {
    const { log } = await open();
    const codecs = kafkajs.CompressionCodecs;
    const type = kafkajs.CompressionTypes.ZSTD;
    const codec = codecs[type];
    const compressed: Buffer[] = [];
    codecs[type] = () => ({
      ...codec(),
      decompress: (bytes: Buffer) => {
        compressed.push(bytes);
        return codec().decompress(bytes);
      },
    });
    try {
      const small = seen('small');
      const event = { metric: 'm', timestampMs: 1, value: 'large'.repeat(800), isJson: false, tags: noTags, ordinal: 0 };
      const body = { orgId: 'o', sourceId: 'large', receivedMs: 1, origin: 'source' as const };
      const large = entry(few, { ...body, events: [0, 1, 2].map((place) => ({ ...event, place })) });
      await log.append([small]);
      await log.append([large]);
      const consumer = await LogConsumer.join(log, { group: 'g', topics: [sources, few] });
      await consumer.has(2);
      expect(consumer.records.map(({ key }) => key)).toEqual(expect.arrayContaining([small.key, large.key]));
    } finally {
      codecs[type] = codec;
    }
    expect([...new Set(compressed.map((bytes) => bytes.toString('hex', 0, 4)))]).toEqual(['28b52ffd']);
    expect(compressed[0]!.length).toBeLessThan(1_000);
  });

  it('refuses what no partition would take before it is sent, and goes on', async () => {
    const { log } = await open();
    const big = { ...seen('a'), headers: { text: 'x'.repeat(1_100_000) } };
    await expect(log.append([big])).rejects.toThrow('too many');
    await log.append([seen('b'), tombstone(sources, 'o/a')]);
  });
});
