import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import {
  type Answered,
  CLOCK,
  createHttpApp,
  inFlightLimits,
  Metrics,
  Organizations,
  KeyUses,
  Readiness,
  Keyring,
  Traffic,
  MONOTONIC_CLOCK,
} from '#edge';
import {
  entry,
  partitionOf,
  RECORD_LOG,
  VIEWS,
  type Entry,
  type Following,
  type FollowOptions,
  type Position,
  type RecordLog,
  type StreamRecord,
} from '#log';
import type { EventBatch, PointBatch } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { EventStream, makeKeysIn, Random, SocketStream, until, withMethods, type StreamClient } from '#testing';
import { events, keyUses, points } from '#topics';
import { LogStreamGateway, MetricStreamGateway } from './stream-gateways.js';
import { StreamsController } from './streams.controller.js';
import { STREAM_LIMITS, Streams, type StreamLimits } from './streams.js';

let dir: string;
let storage: Storage;
let app: NestFastifyApplication;
let base: string;
let key: string;
let orgId: string;
let aheadMs = 0;
/** The same of the clock that only goes forward. */
let monotonicAheadMs = 0;
/** What the log is silent for, when a test says so. */
let silentMs: number | undefined;
const noLimits: StreamLimits = {
  ofKey: Infinity,
  ofPerson: Infinity,
  ofOrganization: Infinity,
  ofDevice: Infinity,
  listsOfDevice: Infinity,
  heldBytes: Infinity,
};
let limits = noLimits;
const requests: Answered[] = [];
/** What is followed now. */
const followed = new Set<FollowOptions>();
/** The most readings at once that were for readers who had come back. */
let mostBehind = 0;
const open: StreamClient[] = [];
/** Whether what is followed comes record by record, each some turns late: two readings of a partition are then seldom at the same place. */
let isLate = false;
const lateness = new Random(1);

function lateFollowing(options: FollowOptions): Following {
  let handing: number | undefined;
  const take = async (records: readonly StreamRecord[]): Promise<void> => {
    for (const record of records) {
      handing = record.offset;
      for (let turns = lateness.whole(0, 5); turns > 0; turns--) await turn();
      await options.take([record]);
    }
    handing = undefined;
  };
  const following = storage.log.follow({ ...options, take });
  const positions = (): readonly Position[] => following.positions().map((one) => ({ ...one, offset: handing ?? one.offset }));
  return withMethods<Following>(following, { positions });
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-streams-'));
  storage = await openStorage(dir);
  const keys = await makeKeysIn(storage.log);
  key = keys.own;
  const watched = withMethods<RecordLog>(storage.log, {
    follow: (options) => {
      const following = isLate ? lateFollowing(options) : storage.log.follow(options);
      followed.add(options);
      mostBehind = Math.max(mostBehind, [...followed].filter(({ from }) => typeof from !== 'string').length);
      return withMethods<Following>(following, {
        ageMs: () => silentMs ?? following.ageMs(),
        stop: () => {
          followed.delete(options);
          return following.stop();
        },
      });
    },
  });
  const ports = [
    { provide: RECORD_LOG, useValue: watched },
    { provide: VIEWS, useValue: storage.views },
    { provide: CLOCK, useValue: () => Date.now() + aheadMs },
    { provide: MONOTONIC_CLOCK, useValue: () => performance.now() + monotonicAheadMs },
  ];
  app = await createHttpApp(
    {
      module: class Role {},
      imports: [{ module: class Ports {}, global: true, providers: ports, exports: ports }],
      controllers: [StreamsController],
      providers: [
        {
          provide: STREAM_LIMITS,
          useValue: new Proxy(noLimits, { get: (_, name: keyof StreamLimits) => limits[name] }),
        },
        Streams,
        MetricStreamGateway,
        LogStreamGateway,
      ],
    },
    // Fewer than the streams that are read here: streams are no requests that are open.
    { observer: (answered) => void requests.push(answered), inFlight: { ...inFlightLimits, reads: 2 } },
  );
  await Promise.all([app.get(Keyring).ready, app.get(Organizations).ready, app.get(Readiness).opened()]);
  orgId = app.get(Keyring).verify(key)!.orgId;
  await app.listen(0, '127.0.0.1');
  base = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});

afterEach(async () => {
  for (const client of open.splice(0)) client.cut();
  [aheadMs, silentMs, isLate, limits] = [0, undefined, false, noLimits];
  await until('nothing is followed', () => followed.size === 0);
});

afterAll(async () => {
  await app.close();
  await storage.close();
  await rm(dir, { recursive: true });
});

const hows = ['socket', 'events'] as const;
type How = (typeof hows)[number];

async function read(
  how: How,
  source: string,
  stream: 'metrics' | 'logs' = 'logs',
  after?: string,
  query = 'cursor=1',
): Promise<StreamClient> {
  const path = `/v1/sources/${source}/${stream}/stream`;
  const client =
    how === 'events'
      ? await EventStream.open(base, path, { key, lastEventId: after })
      : await SocketStream.open(base, `${path}?${after === undefined ? query : `after=${after}`}`, { key });
  open.push(client);
  return client;
}

const event = (sourceId: string, ...values: readonly number[]): Entry<EventBatch> =>
  entry(events, {
    orgId,
    sourceId,
    receivedMs: 1,
    origin: 'source',
    events: values.map((n, place) => ({ metric: 'e', timestampMs: n, value: String(n), isJson: true, tags: '', place, ordinal: 0 })),
  });
const point = (sourceId: string, ...values: readonly number[]): Entry<PointBatch> => {
  const column = Float64Array.from(values);
  return entry(points, { orgId, sourceId, receivedMs: 1, series: [{ metric: 'm', tags: '', timestampMs: column, value: column }] });
};

const gauge = (name: string): number =>
  app
    .get(Metrics)
    .all.find((one) => one.name === name)!
    .read() as number;

const begun = (client: StreamClient): Promise<void> => client.has('a cursor', () => client.cursor !== undefined);

type Stream = 'metrics' | 'logs';

/** Reads one stream of one source over many connections. */
class Traveller {
  /** All values that came. */
  readonly had: number[] = [];
  readonly begins = Promise.withResolvers<void>();
  #cuts: number;

  constructor(
    readonly how: How,
    readonly stream: Stream,
    readonly source: string,
    private readonly random: Random,
  ) {
    this.#cuts = random.whole(2, 6);
  }

  /** @param want what is appended. @param isDone whether nothing more will be. */
  async read(want: readonly number[], isDone: () => boolean): Promise<void> {
    for (let cursor: string | undefined; ; this.#cuts--) {
      const client = await read(this.how, this.source, this.stream, cursor);
      await begun(client);
      this.begins.resolve();
      const enough = this.#cuts > 0 ? this.random.whole(0, 4) : Infinity;
      await until('enough has come', () => isDone() || client.messages.length >= enough);
      const hasAll = (): boolean => this.had.length + this.#valuesOf(client).length >= want.length;
      if (isDone()) await until(`${this.how} ${this.stream} ${this.source} has all`, hasAll);
      client.cut();
      cursor = client.cursor;
      this.had.push(...this.#valuesOf(client));
      if (isDone() && this.had.length >= want.length) return;
    }
  }

  #valuesOf({ messages }: StreamClient): number[] {
    expect(messages.filter(({ type }) => type === 'gap')).toEqual([]);
    return messages.flatMap(({ points: its, value }) => its?.map((one) => one.value) ?? [value as number]);
  }
}

describe('a model of readers who are cut off and come back', () => {
  it.each(Array.from({ length: 30 }, (_, seed) => seed))('seed %i: each has had all of its source, once, in order', async (seed) => {
    isLate = seed % 2 === 1;
    const random = new Random(seed + 1);
    const sources = ['a', 'b'].map((name) => `${name}${seed}`);
    const appended = new Map<string, number[]>();
    const of = (stream: Stream, source: string): number[] =>
      appended.get(stream + source) ?? appended.set(stream + source, []).get(stream + source)!;
    // A time is from 1 on.
    let n = 1;
    const append = async (): Promise<void> => {
      const entries = Array.from({ length: random.whole(1, 5) }, (): Entry => {
        const source = random.pick(sources);
        const values = Array.from({ length: random.chance(0.1) ? 300 : random.whole(1, 4) }, () => n++);
        const isPoint = random.chance(0.5);
        of(isPoint ? 'metrics' : 'logs', source).push(...values);
        return (isPoint ? point : event)(source, ...values);
      });
      await storage.log.append(entries);
    };
    let isDone = false;
    const travellers = sources.flatMap((source) =>
      (['metrics', 'logs'] as const).flatMap((stream) => hows.map((how) => new Traveller(how, stream, source, random))),
    );
    const journeys = travellers.map((one) => one.read(of(one.stream, one.source), () => isDone));
    // Whoever has no cursor is given nothing of what was appended before.
    await Promise.all(travellers.map(({ begins }) => begins.promise));
    for (let left = 60; left > 0; left--) {
      await append();
      for (let turns = random.whole(0, 10); turns > 0; turns--) await turn();
    }
    isDone = true;
    await Promise.all(journeys);
    for (const { had, stream, source } of travellers) expect(had).toEqual(of(stream, source));
    expect(n).toBeGreaterThan(100);
  });
});

describe('a cursor', () => {
  it.each(['socket', 'events'] as const)(
    'that is an hour old, or has 100,000 records behind it, gives a gap: %s',
    async (how) => {
      const source = `far-${how}`;
      const first = await read(how, source);
      await begun(first);
      const cursor = first.cursor!;
      await storage.log.append([event(source, 1)]);
      await first.has('the event', () => first.events.length === 1);
      first.cut();
      aheadMs = 3_590_000;
      const soon = await read(how, source, 'logs', cursor);
      await soon.has('the event', () => soon.events.length === 1);
      aheadMs = 3_610_000;
      const late = await read(how, source, 'logs', cursor);
      await late.has('a gap', () => late.messages.length > 0);
      const { type, from, to } = late.messages[0]!;
      expect([type, Number(to) - Number(from) >= 3_600_000]).toEqual(['gap', true]);
      for (const client of [soon, late]) client.cut();
      await until('nothing is followed', () => followed.size === 0);
      aheadMs = 0;
      await storage.log.append(Array.from({ length: 100_001 }, () => event('nobody', 1)));
      const far = await read(how, source, 'logs', cursor);
      await far.has('a gap', () => far.messages.length > 0);
      await storage.log.append([event(source, 2)]);
      await far.has('the next event', () => far.events.length > 0);
      expect(far.messages.map(({ type: its }) => its)).toEqual(['gap', 'event']);
      // A gap moves the cursor.
      const again = await read(how, source, 'logs', far.cursor);
      await storage.log.append([event(source, 3)]);
      await again.has('the last event', () => again.events.length > 0);
      expect(again.messages.map(({ value }) => value)).toEqual([3]);
    },
    60_000,
  );
});

describe('a gateway', () => {
  it('follows only partitions on which somebody watches, once for all who do', async () => {
    const partition = partitionOf(Buffer.from(`${orgId}/watched`), points.partitions);
    const clients = await Promise.all([read('socket', 'watched', 'metrics'), read('events', 'watched', 'metrics')]);
    for (const client of clients) await begun(client);
    expect([...followed].map(({ topics, from, partitions }) => [topics, from, partitions])).toEqual([[[points], 'end', [partition]]]);
    clients[0].cut();
    await storage.log.append([point('watched', 1)]);
    await clients[1].has('a point', () => clients[1].points.length === 1);
    clients[1].cut();
    await until('nothing is followed', () => followed.size === 0);
  });

  it('reads the log for those who have come back in at most eight partitions at once', async () => {
    const sources = Array.from({ length: 40 }, (_, n) => `back-${n}`);
    const cursors = await Promise.all(
      sources.map(async (source) => {
        const client = await read('events', source);
        await begun(client);
        return client.cursor;
      }),
    );
    for (const client of open.splice(0)) client.cut();
    await until('nothing is followed', () => followed.size === 0);
    await storage.log.append(sources.flatMap((source) => Array.from({ length: 100 }, (_, n) => event(source, n + 1))));
    [isLate, mostBehind] = [true, 0];
    const clients = await Promise.all(sources.map((source, at) => read('events', source, 'logs', cursors[at])));
    for (const client of clients) await client.has('all', () => client.events.length === 100);
    expect(mostBehind).toBe(8);
  }, 60_000);

  it('says that the log is away, and gives up after five minutes with 1011', async () => {
    const clients = [await read('socket', 'away'), await read('events', 'away'), await read('socket', 'away', 'logs', undefined, '')];
    await begun(clients[0]!);
    silentMs = 6_000;
    for (const client of clients) await client.has('two attempts', () => client.messages.length >= 2);
    const attempts = [1, 2].map((attempt) => ({ type: 'gateway_reconnecting', attempt, delay_s: attempt }));
    for (const client of clients) expect(client.messages.slice(0, 2)).toEqual(attempts);
    silentMs = undefined;
    await storage.log.append([event('away', 1)]);
    for (const client of clients) await client.has('the event', () => client.events.length === 1);
    silentMs = 300_000;
    expect(await Promise.all(clients.map((client) => client.closedWith()))).toEqual([1011, 1011, 1011]);
  });

  it.each([
    ['key', { ofKey: 2, ofPerson: 1 }],
    ['organization', { ofPerson: 1, ofOrganization: 2 }],
    ['device', { ofDevice: 2 }],
  ])('refuses more streams than a %s may have, and lets others in once one has ended', async (_, its) => {
    limits = { ...noLimits, ...its };
    const [first] = [await read('socket', 'many'), await read('events', 'many')];
    await begun(first);
    const refused = (await read('events', 'many')) as EventStream;
    expect([refused.answer.statusCode, Number(refused.answer.headers['retry-after']) > 0]).toEqual([429, true]);
    expect(await (await read('socket', 'many')).closedWith()).toBe(1013);
    first.cut();
    await until('another is let in', async () => ((await read('events', 'many')) as EventStream).answer.statusCode === 200);
  });

  it('refuses more different lists of metrics of one device than there may be, and no list that somebody has', async () => {
    limits = { ...noLimits, listsOfDevice: 2 };
    const ask = async (metrics: string): Promise<EventStream> => {
      const client = await EventStream.open(base, `/v1/sources/lists/metrics/stream?metrics=${metrics}`, { key });
      open.push(client);
      return client;
    };
    const asked: EventStream[] = [];
    for (const metrics of ['a', 'a,b', 'b,a', 'c', 'a']) asked.push(await ask(metrics));
    expect(asked.map(({ answer }) => answer.statusCode)).toEqual([200, 200, 200, 429, 200]);
    asked[0]!.cut();
    asked[4]!.cut();
    await until('another list may come', async () => (await ask('c')).answer.statusCode === 200);
  });

  it('moves the cursor of a stream on which nothing comes every 30 s, with a comment among events', async () => {
    const [socket, eventStream] = [await read('socket', 'quiet'), await read('events', 'quiet')];
    for (const client of [socket, eventStream]) await begun(client);
    const first = [socket.cursor, eventStream.cursor];
    const { comments } = eventStream as EventStream;
    monotonicAheadMs += 30_000;
    await until('both cursors move', () => socket.cursor !== first[0] && eventStream.cursor !== first[1]);
    expect([(eventStream as EventStream).comments, socket.messages, eventStream.messages]).toEqual([comments + 1, [], []]);
  });

  it('tells of a request for a stream once the stream has begun', async () => {
    await begun(await read('events', 'told'));
    const answered = (): Answered[] => requests.filter(({ status }) => status === 200);
    await until('the request is told of', () => answered().length > 0);
    expect(answered().filter(({ complete }) => !complete)).toEqual([]);
  });

  it('notes the use of a key for as long as its stream of events is open', async () => {
    const reader = await read('events', 'n1');
    await begun(reader);
    const [uses, { keyId }] = [app.get(KeyUses), app.get(Keyring).verify(key)!];
    await uses.write();
    const openedMs = Date.now();
    aheadMs = 3_600_000;
    // A use counts from the write before.
    for (let writes = 0; writes < 2; writes++) await uses.write();
    await storage.views.open(keyUses).until(keyId, (use) => use !== undefined && use.usedMs >= openedMs + aheadMs, 5_000);
    reader.cut();
    await until('the stream has ended', () => gauge('headwater_streams_open') === 0);
    aheadMs *= 2;
    for (let writes = 0; writes < 2; writes++) await uses.write();
    await storage.views.open(keyUses).caughtUp();
    expect(storage.views.open(keyUses).get(keyId)!.usedMs).toBeLessThan(openedMs + aheadMs);
  });

  it('merges what a socket that stops reading does not take, and no other notices', async () => {
    const [slow, fast] = [await read('socket', 'slow', 'metrics', undefined, ''), await read('socket', 'slow', 'metrics', undefined, '')];
    let n = 0;
    await until('both read', async () => {
      await storage.log.append([point('slow', n++)]);
      return slow.points.length > 0 && fast.points.length > 0;
    });
    const { socket } = slow as SocketStream;
    socket.pause();
    const values = Array.from({ length: 5_000 }, (_, at) => at);
    for (let round = 0; round < 60; round++) {
      await storage.log.append([point('slow', ...values.map(() => n++))]);
      await fast.has('all', () => fast.points.at(-1)!.value === n - 1);
      if (round % 5 === 0) fast.messages.splice(0, fast.messages.length - 1);
    }
    socket.resume();
    await slow.has('the newest', () => slow.points.at(-1)?.value === n - 1);
    expect(slow.points.length).toBeLessThan(n);
    expect([slow.closed, fast.closed]).toEqual([undefined, undefined]);
  }, 60_000);

  it('closes the slowest of its readers where all together hold more than they may', async () => {
    limits = { ...noLimits, heldBytes: 500_000 };
    const [slow, fast] = [await read('socket', 'held'), await read('socket', 'held')];
    for (const client of [slow, fast]) await begun(client);
    const { socket } = slow as SocketStream;
    socket.pause();
    let n = 1;
    // Socket buffers of the system take the first megabytes. What is held then would be let pass if that were all: it is less than 1 MiB.
    await until('too much is held', async () => {
      await storage.log.append([event('held', ...Array.from({ length: 2_000 }, () => n++))]);
      await fast.has('all', () => fast.messages.length > 0 && fast.messages.at(-1)!['value'] === n - 1);
      fast.messages.splice(0, fast.messages.length - 1);
      return gauge('headwater_streams_held_bytes') > 500_000 || gauge('headwater_streams_open') === 1;
    });
    await until('it is left', () => gauge('headwater_streams_open') === 1);
    socket.resume();
    // Whoever does not read does not answer a close either, and is cut.
    expect([await slow.closedWith(), fast.closed]).toEqual([1006, undefined]);
  }, 60_000);

  it('lets a WebSocket that it closes take what was sent before, however late', async () => {
    const client = await read('socket', 'late');
    await begun(client);
    const { socket } = client as SocketStream;
    socket.pause();
    const its = Array.from({ length: 2_000 }, (_, n) => ({
      metric: 'e',
      timestampMs: n + 1,
      value: 'x'.repeat(4_000),
      isJson: false,
      tags: '',
      place: n,
      ordinal: 0,
    }));
    const body = entry(events, { orgId, sourceId: 'late', receivedMs: 1, origin: 'source', events: its });
    // Socket buffers of the system take the first megabytes.
    let sent = 0;
    await until('one reader holds more than it may', async () => {
      await storage.log.append([body]);
      sent += its.length;
      return gauge('headwater_streams_held_bytes') > 16 * 1024 * 1024;
    });
    // A client that has taken everything is cut 2 to 4 s after the close. This one has not, so the server waits up to 10 s for it to take more.
    setTimeout(() => socket.resume(), 5_000);
    expect([await client.closedWith(), client.closed!.reason]).toEqual([1013, expect.stringContaining('too slow')]);
    expect(client.events.length).toBeLessThan(sent);
  }, 60_000);

  it('ends its streams with 1001 when it stops', async () => {
    const clients = [await read('socket', 'stop'), await read('events', 'stop')];
    for (const client of clients) await begun(client);
    const drained = app.get(Traffic).drain(app.getHttpServer());
    expect(await Promise.all(clients.map((client) => client.closedWith()))).toEqual([1001, 1001]);
    await drained;
  });
});
