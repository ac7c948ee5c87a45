import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { Agent, get, type IncomingMessage, type Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { createHttpApp, InFlight, Organizations } from '#edge';
import { TelemetryError } from '#model';
import { GENERATIONS, onlyGeneration, type RawQuery, type SeriesStore, type Stores } from '#stores';
import { makeKey, MemoryLog, MemoryModule, until } from '#testing';
import { QueryModule } from './query.module.js';

const nowMs = Date.UTC(2026, 0, 31, 12);

/** Answers each metric that is asked for with a point for each second of the window. */
const raw = async ({ orgId, sourceId, metrics = [], window }: RawQuery) => {
  if (sourceId === 'broken') throw new TelemetryError('store_unavailable', 'The store is closed.', { retryAfterS: 3 });
  const mine = orgId === own.orgId ? metrics : [];
  const timestampMs = Float64Array.from({ length: (window.endMs - window.startMs) / 1000 }, (_, at) => window.startMs + 1000 * at);
  return { series: mine.map((metric) => ({ metric, timestampMs, value: timestampMs.map(Math.sin) })), truncated: false };
};

interface Told {
  readonly status: number;
  readonly complete: boolean;
}

const told: Told[] = [];
const own = { orgId: '', key: '', other: '' };
let app: NestFastifyApplication;
let port: number;
/** Requests that `node:http` has seen. */
let viaHttp = 0;

beforeAll(async () => {
  const log = new MemoryLog();
  const stores = { series: { raw } as Partial<SeriesStore> } as Stores;
  const provided = [{ provide: GENERATIONS, useValue: onlyGeneration(stores) }];
  app = await createHttpApp(
    {
      module: class Role {},
      imports: [
        MemoryModule.of(log, () => nowMs),
        { module: class Given {}, global: true, providers: provided, exports: provided },
        QueryModule,
      ],
    },
    { observer: (one) => told.push(one) },
  );
  await app.listen(0, '127.0.0.1');
  const server: Server = app.getHttpServer();
  server.on('request', () => viaHttp++);
  ({ port } = server.address() as { port: number });
  const organizations = app.get(Organizations);
  own.orgId = (await organizations.create('Own', true)).orgId;
  own.key = (await makeKey(log, own.orgId, ['read'])).secret;
  own.other = (await makeKey(log, (await organizations.create('Other', true)).orgId, ['read'])).secret;
});
afterAll(async () => {
  await app.close();
  for (const agent of agents) agent.destroy();
});

beforeEach(() => {
  viaHttp = told.length = 0;
});

/** A connection that `node:http` has once got stays there. */
const agents: Agent[] = [];
function newConnection(): Agent {
  agents.push(new Agent({ keepAlive: true, maxSockets: 1 }));
  return agents.at(-1)!;
}

interface Asked {
  readonly key?: string;
  readonly agent?: Agent;
  readonly headers?: Readonly<Record<string, string>>;
}

async function ask(path: string, { key = own.key, agent = newConnection(), headers }: Asked = {}): Promise<IncomingMessage> {
  const request = get({ port, path, headers: { 'x-api-key': key, ...headers }, agent });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

const changing: ReadonlySet<string> = new Set(['date', 'x-request-id', 'connection', 'keep-alive']);

/** All that is the same each time the same is asked. What is about the connection alone may differ. */
async function answer(path: string, asked?: Asked): Promise<object> {
  const response = await ask(path, asked);
  const { date, 'x-request-id': id } = response.headers;
  const headers = Object.entries(response.headers).filter(([name]) => !changing.has(name));
  const body = (await text(response)).replace(String(id), 'the id');
  return { status: response.statusCode, headers: Object.fromEntries(headers), ids: [typeof date, typeof id], body };
}

const metricsOf = (sourceId: string, rest: string): string => `/v1/sources/${sourceId}/metrics/query?interval=raw${rest}`;
const tenMinutes = '&metrics=a&start=2026-01-31T11:50:00Z&end=2026-01-31T12:00:00Z';
const threeHours = '&start=2026-01-31T09:00:00Z&end=2026-01-31T12:00:00Z';
const long = metricsOf('pump', `${threeHours}&metrics=a,b,c`);

describe('a plain read is answered as node:http and the framework answer it', () => {
  it.each([
    ['ten minutes', 200, metricsOf('pump', tenMinutes)],
    ['no series', 200, metricsOf('pump', '&last=10m')],
    ['a long answer in one piece', 200, metricsOf('pump', `${threeHours}&metrics=a`)],
    ['a long answer in pieces', 200, long],
    [
      'times with offsets, encoded',
      200,
      metricsOf('pump', '&metrics=%C3%BC&start=2026-01-31T11:50:00%2B01:00&end=2026-01-31T12:00:00+01:00'),
    ],
    ['a window that ends before it begins', 400, metricsOf('pump', '&start=2026-01-31T12:00:00Z&end=2026-01-31T11:00:00Z')],
    ['an interval that there is not', 400, '/v1/sources/pump/metrics/query?interval=3m'],
    ['a parameter that comes twice', 400, metricsOf('pump', '&last=1h&last=2h')],
    ['broken percent-encoding', 400, metricsOf('pump', '&metrics=%C3')],
    ['an id that is too long', 400, metricsOf('x'.repeat(300), tenMinutes)],
    ['a store that is closed', 503, metricsOf('broken', tenMinutes)],
  ] as const)('%s', async (_, status, path) => {
    const direct = await answer(path);
    expect([direct, viaHttp]).toEqual([expect.objectContaining({ status }), 0]);
    expect([await answer(path, { headers: { 'x-any': '1' } }), viaHttp]).toEqual([direct, 1]);
    expect(told[0]).toEqual({ ...told[1], requestId: expect.any(String), durationMs: expect.any(Number) });
  });
});

describe('what is not plain, or not let in, is for node:http', () => {
  it.each([
    ['no key that we know', 401, metricsOf('pump', tenMinutes), { key: 'hw_none' }],
    ['an id that is percent-encoded', 200, metricsOf('p%75mp', tenMinutes), {}],
    ['another path below the source', 404, '/v1/sources/pump/metrics/query/more', {}],
    ['a body', 200, metricsOf('pump', tenMinutes), { headers: { 'content-type': 'application/json', 'content-length': '0' } }],
  ] as const)('%s', async (_, status, path, asked) => {
    const { statusCode } = (await ask(path, asked)).resume();
    expect([statusCode, viaHttp]).toEqual([status, 1]);
  });
});

it('another organization sees nothing of it', async () => {
  expect(await answer(metricsOf('pump', tenMinutes), { key: own.other })).toMatchObject({
    body: '{"interval":"raw","auto_downsampled":false,"series":{},"truncated":false}',
  });
});

it('one connection serves long and short answers, one after the other', async () => {
  const agent = newConnection();
  const sockets = new Set<object>();
  for (const path of [long, metricsOf('pump', tenMinutes), long]) {
    const response = await ask(path, { agent });
    sockets.add(response.socket);
    expect(JSON.parse(await text(response))).toMatchObject({ truncated: false });
  }
  expect([sockets.size, viaHttp]).toEqual([1, 0]);
});

it('a client that ends its side in the middle of a long answer gets all of it, then the end of the connection', async () => {
  const socket = connect(port, '127.0.0.1').pause();
  socket.end(`GET ${long} HTTP/1.1\r\nHost: h\r\nX-Api-Key: ${own.key}\r\n\r\n`);
  await once(socket, 'finish');
  const whole = await text(socket);
  expect(whole).toMatch(/^HTTP\/1\.1 200 OK\r\n.*"truncated":false}\r\n0\r\n\r\n$/s);
  expect(viaHttp).toBe(0);
  await until('the observer is told', () => told.length > 0);
  expect(told).toMatchObject([{ status: 200, complete: true }]);
});

it('a client that leaves in the middle of a long answer is told of once, and nothing is held', async () => {
  // More than the buffers of the kernel hold between server and client.
  const many = Array.from({ length: 100 }, (_, at) => `m${at}`).join();
  const response = await ask(metricsOf('pump', `${threeHours}&metrics=${many}`));
  expect(told).toEqual([]);
  response.socket.resetAndDestroy();
  await until('the observer is told', () => told.length > 0);
  expect(told).toMatchObject([{ status: 200, complete: false }]);
  expect([viaHttp, app.get(InFlight).answerBytes, app.get(InFlight).shares.size]).toEqual([0, 0, 0]);
});
