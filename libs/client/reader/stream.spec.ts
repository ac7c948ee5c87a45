import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EmbeddedDeployment, Random, until } from '#testing';
import type { ReaderOptions } from './access.js';
import { BaseHeadwater } from './headwater.js';
import type { SourceStream } from './source.js';
import type { StreamMessage } from './types.js';

const begin = Date.UTC(2026, 0, 2);
let server: EmbeddedDeployment;
beforeAll(async () => {
  server = await EmbeddedDeployment.start();
});
afterAll(() => server.stop());

const controllers: AbortController[] = [];
const ways: Way[] = [];
afterEach(() => {
  for (const controller of controllers.splice(0)) controller.abort(new Error('the test is over'));
  for (const way of ways.splice(0)) way.close();
});

/** A way to the server that lets so many bytes of answers through on each connection, then cuts it. */
class Way {
  connections = 0;
  readonly open = new Set<Socket>();

  private constructor(private readonly listening: Server) {}

  static async of(budget: () => number): Promise<Way> {
    const listening = createServer().listen(0, '127.0.0.1');
    await once(listening, 'listening');
    const way = new Way(listening);
    ways.push(way);
    listening.on('connection', (near) => way.#join(near, budget()));
    return way;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.listening.address() as AddressInfo).port}`;
  }

  close(): void {
    this.listening.close();
    for (const socket of this.open) socket.destroy();
  }

  #join(near: Socket, budget: number): void {
    this.connections++;
    this.open.add(near);
    const far = connect(Number(new URL(server.urls.api).port), '127.0.0.1');
    let left = budget;
    near.pipe(far);
    far.on('data', (bytes: Buffer) => {
      near.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) near.end(() => near.destroy());
      else if (near.writableNeedDrain) far.pause();
    });
    near.on('drain', () => far.resume());
    near
      .on('error', () => far.destroy())
      .on('end', () => near.destroy())
      .on('close', () => {
        this.open.delete(near);
        far.destroy();
      });
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
  }
}

async function post(source: string, points: readonly object[]): Promise<void> {
  const headers = { 'content-type': 'application/json', 'x-api-key': server.keys.own };
  const response = await fetch(`${server.urls.ingest}/ingest`, {
    method: 'POST',
    body: JSON.stringify({ source_id: source, points }),
    headers,
  });
  expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
}

/** A stream that is being read. */
class Reading {
  readonly messages: StreamMessage[] = [];
  readonly retries: string[] = [];
  error: unknown;
  readonly done: Promise<void>;
  readonly controller = new AbortController();

  constructor(source: string, { url = server.urls.api, apiKey = server.keys.own, ...options }: SourceStream & ReaderOptions = {}) {
    controllers.push(this.controller);
    const headwater = new BaseHeadwater({ url, apiKey, onRetry: ({ message }) => this.retries.push(message), ...options });
    this.done = this.#read(headwater.source(source).stream({ ...options, signal: this.controller.signal }));
  }

  /** Resolves once what is accepted from now on comes. */
  async begun(): Promise<this> {
    await until(`the stream has begun, ${String(this.error)}`, () => this.messages.length > 0);
    return this;
  }

  get values(): unknown[] {
    return this.messages.flatMap((message) =>
      message.type === 'telemetry' ? message.points.map(({ value }) => value) : message.type === 'event' ? [message.value] : [],
    );
  }

  has(count: number): Promise<void> {
    return until(`${count} values; there are ${this.values.length}`, () => this.values.length >= count);
  }

  async #read(messages: AsyncIterable<StreamMessage>): Promise<void> {
    try {
      for await (const message of messages) this.messages.push(message);
    } catch (error) {
      this.error = error;
    }
  }
}

const point = (n: number): object => ({ metric: 'b, c', value: n, timestamp: begin + n });
const event = (n: number): object => ({ metric: 'e', class: 'event', value: { n }, timestamp: begin + n });
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

describe('a stream', () => {
  it('brings points as they are accepted, each with what it was sent with', async () => {
    const [every, one] = await Promise.all([new Reading('plain').begun(), new Reading('plain', { metrics: ['b, c'] }).begun()]);
    await post('plain', [{ metric: 'a', value: 1, timestamp: begin, tags: { side: 'n' } }, point(1)]);
    await Promise.all([every.has(2), one.has(1)]);
    const { type, cursor, ...rest } = every.messages.find((message) => message.type === 'telemetry')!;
    expect([type, typeof cursor]).toEqual(['telemetry', 'string']);
    expect(rest).toEqual({
      points: [
        { source_id: 'plain', class: 'metric', metric: 'a', value: 1, timestamp: begin, tags: { side: 'n' } },
        { source_id: 'plain', class: 'metric', metric: 'b, c', value: 1, timestamp: begin + 1 },
      ],
    });
    expect(one.values).toEqual([1]);
  });

  it('brings events, and only those that are asked for where that cannot be asked of the server', async () => {
    const [logs, edge] = await Promise.all([
      new Reading('both', { logs: true }).begun(),
      new Reading('both', { metrics: [' edge'] }).begun(),
    ]);
    await post('both', [point(1), event(2), { metric: ' edge', value: 3, timestamp: begin }, point(4), event(5)]);
    await Promise.all([logs.has(2), edge.has(1)]);
    expect([logs.values, edge.values]).toEqual([[{ n: 2 }, { n: 5 }], [3]]);
  });

  it.each([
    ['points', 1],
    ['points', 2],
    ['events', 3],
  ])('of %s that is cut at any place goes on where it was (seed %i)', async (what, seed) => {
    const logs = what === 'events';
    const random = new Random(seed);
    const source = `cut-${seed}`;
    // The head of an answer is about 300 bytes, so that some connections end in it or before the first event.
    const way = await Way.of(() => (way.connections <= 1 ? 1_500 : random.whole(200, 8_000)));
    const reading = await new Reading(source, { url: way.url, logs }).begun();
    for (let n = 0; n < 300;) {
      const next = Math.min(300, n + random.whole(1, 12));
      await post(source, numbers(n, next).map(logs ? event : point));
      n = next;
      // What is missed comes as one message, which has to fit through the way at once.
      await reading.has(n - 40);
    }
    await reading.has(300);
    expect(reading.values).toEqual(numbers(0, 300).map((n) => (logs ? { n } : n)));
    expect(way.connections).toBeGreaterThan(5);
    expect(reading.messages.filter(({ type }) => type === 'gap')).toEqual([]);
  });

  it('goes on behind a cursor of another stream', async () => {
    const first = await new Reading('again').begun();
    await post('again', [point(0), point(1)]);
    await post('again', [point(2)]);
    await first.has(3);
    first.controller.abort(new Error('enough'));
    await post('again', [point(3)]);
    const cursor = first.messages.findLast((message) => message.cursor !== undefined)!.cursor!;
    const second = new Reading('again', { after: cursor });
    await second.has(1);
    expect(second.values).toEqual([3]);
    const third = new Reading('again', { after: first.messages[0]!.cursor! });
    await third.has(4);
    expect(third.values).toEqual([0, 1, 2, 3]);
  });

  it('closes its connection when the loop is left, and when the signal ends it', async () => {
    const way = await Way.of(() => Infinity);
    const headwater = new BaseHeadwater({ url: way.url, apiKey: server.keys.own });
    const connections: Socket[] = [];
    // fetch opens one in place of each that it has closed, and keeps that for a while for what may come.
    const closed = (): Promise<void> => until('the connection is closed', () => !connections.some((one) => way.open.has(one)));
    for await (const message of headwater.source('left').stream()) {
      expect(message.type).toBe('cursor');
      connections.push(...way.open);
      expect(connections.length).toBe(1);
      break;
    }
    await closed();
    const reading = await new Reading('left', { url: way.url }).begun();
    connections.push(...way.open);
    expect(connections.length).toBe(2);
    const reason = new Error('enough');
    reading.controller.abort(reason);
    await reading.done;
    expect(reading.error).toBe(reason);
    await closed();
  });

  it('reads no more than it is asked for: what comes meanwhile waits at the server, and nothing is lost', async () => {
    const headwater = new BaseHeadwater({ url: server.urls.api, apiKey: server.keys.own });
    const controller = new AbortController();
    controllers.push(controller);
    const messages = headwater.source('slow').stream({ signal: controller.signal });
    expect(await messages.next()).toMatchObject({ value: { type: 'cursor' } });
    const before = process.memoryUsage().arrayBuffers;
    const tags = { filler: 'x'.repeat(250), more: 'y'.repeat(250) };
    for (let n = 0; n < 40; n++)
      await post(
        'slow',
        numbers(n * 1000, n * 1000 + 1000).map((value) => ({ metric: 'm', value, timestamp: begin + value, tags })),
      );
    // 25 MB were sent; sockets and the reader hold a little of it.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(200_000_000);
    const values: number[] = [];
    for await (const message of messages) {
      if (message.type === 'telemetry') for (const { value } of message.points) values.push(value);
      if (values.length >= 40_000) break;
    }
    expect(values).toEqual(numbers(0, 40_000));
  });

  it('ends when its key is deleted', async () => {
    const headwater = new BaseHeadwater({ url: server.urls.api, apiKey: server.keys.own });
    const { id, api_key: apiKey } = await headwater.keys.create({ name: 'stream', scopes: ['read'] });
    await until('the key is known', async () => {
      const found = await new BaseHeadwater({ url: server.urls.api, apiKey }).keys.verify().catch(() => undefined);
      return found !== undefined;
    });
    const reading = await new Reading('deleted', { apiKey }).begun();
    await headwater.keys.delete(id);
    await reading.done;
    expect(reading.error).toMatchObject({ code: 'invalid_key', status: 401 });
  });

  it('of an address that never answers ends after the patience', async () => {
    const way = await Way.of(() => 0);
    const reading = new Reading('a', { url: way.url, patienceMs: 50 });
    await reading.done;
    expect(reading.error).toMatchObject({ code: 'no_answer' });
  });

  it('goes on behind a restart of the server', async () => {
    const way = await Way.of(() => Infinity);
    const reading = await new Reading('restart', { url: way.url }).begun();
    await post('restart', [point(0)]);
    await reading.has(1);
    await server.restart();
    await post('restart', [point(1)]);
    await reading.has(2);
    expect(reading.values).toEqual([0, 1]);
    expect(reading.retries.length).toBeGreaterThan(0);
  });
});
