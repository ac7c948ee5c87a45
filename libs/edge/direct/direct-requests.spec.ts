import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tombstone } from '#log';
import { TelemetryError, type Caller, type Figure } from '#model';
import { makeKey, MemoryLog, MemoryModule, until } from '#testing';
import { apiKeys } from '#topics';
import type { Answered } from '../answered.js';
import { bodyRoute } from '../body-route.js';
import { createHttpApp, type HttpAppOptions } from '../http-app.js';
import { InFlight, inFlightLimits } from '../in-flight.js';
import { Keyring } from '../keyring.js';
import { Metrics } from '../metrics.js';
import { Organizations } from '../organizations.js';
import { Traffic } from '../traffic.js';
import type { Sender } from './direct-route.js';

/** What the route was given. */
interface Taken {
  readonly caller: Caller;
  readonly id: string;
  readonly traceparent: string | undefined;
  readonly body: string;
}

/** Of the requests of one test. */
const taken: Taken[] = [];
const answered: Answered[] = [];
/** Lets a test hold what the route was given. */
let gate: Promise<void> = Promise.resolve();
let open: () => void = () => {};
const shut = (): void => {
  gate = new Promise((resolve) => (open = resolve));
};

beforeEach(() => {
  open();
  taken.length = answered.length = 0;
});

/** How the route fails, by the body that has it fail. */
const failures: Readonly<Record<string, () => Error>> = {
  flawed: () => new TelemetryError('invalid_points', '/points/0: bad', { flaws: [{ pointer: '/points/0', code: 'bad', detail: 'bad' }] }),
  silent: () => new TelemetryError('log_unavailable', 'Send the same body again in 7 seconds.', { retryAfterS: 7 }),
  greedy: () => new TelemetryError('over_rate', 'Go on later.'),
  broken: () => new Error('the password is hunter2'),
};

/** More than the buffers of the kernel hold between server and client. */
const largeBytes = 16 * 1024 * 1024;

async function take({ caller, id, traceparent }: Sender, bytes: Buffer | undefined): Promise<object> {
  const body = bytes?.toString('latin1') ?? 'none';
  taken.push({ caller, id, traceparent, body });
  await gate;
  const failure = failures[body]?.();
  if (failure) throw failure;
  if (body === 'large') return { text: 'x'.repeat(largeBytes) };
  // The bytes are still there, however long it took.
  return { bytes: bytes?.length, text: bytes?.toString('latin1'), é: '€' };
}

@Injectable()
class Ingest implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    bodyRoute(this.host.httpAdapter.getInstance<FastifyInstance>(), '/ingest', { scope: 'write' }, take);
  }
}

@Module({ providers: [Ingest] })
class Face {}

/** A server with an organization that may send as much as it likes. */
interface Running {
  readonly app: NestFastifyApplication;
  readonly server: Server;
  readonly port: number;
  /** The server's side of each connection, in the order of their beginning. */
  readonly sockets: Socket[];
  /** How many requests `node:http` has seen. */
  readonly viaHttp: () => number;
  readonly keys: { readonly write: string; readonly read: string };
  /** A key of another organization, which has limits. */
  limited(limits: Readonly<Record<string, number>>): Promise<string>;
  deleteKey(secret: string): Promise<void>;
}

/** That bodies may hold in memory; one organization has half of it. */
const bodyBytes = 64 * 1024;

async function run(options: HttpAppOptions = {}): Promise<Running> {
  const log = new MemoryLog();
  const clock = (): number => Date.UTC(2026, 0, 1);
  const app = await createHttpApp(
    { module: class Role {}, imports: [MemoryModule.of(log, clock), Face] },
    { observer: (one) => answered.push(one), inFlight: { ...inFlightLimits, bodyBytes }, ...options },
  );
  await app.listen(0, '127.0.0.1');
  const server: Server = app.getHttpServer();
  const sockets: Socket[] = [];
  let requests = 0;
  server.on('connection', (socket) => sockets.push(socket)).on('request', () => requests++);
  const organizations = app.get(Organizations);
  const keyOf = async (orgId: string, scope: 'read' | 'write'): Promise<string> => (await makeKey(log, orgId, [scope])).secret;
  const { orgId } = await organizations.create('Paid', true);
  return {
    app,
    server,
    port: (server.address() as AddressInfo).port,
    sockets,
    viaHttp: () => requests,
    keys: { write: await keyOf(orgId, 'write'), read: await keyOf(orgId, 'read') },
    limited: async (limits) => keyOf((await organizations.create('Limited', true, { limits })).orgId, 'write'),
    deleteKey: async (secret) => log.append([tombstone(apiKeys, app.get(Keyring).verify(secret)!.keyId)]),
  };
}

/** The value of a gauge, or the sum of a counter. */
async function measured({ app }: Running, name: string): Promise<number> {
  const figure = (await app
    .get(Metrics)
    .all.find((one) => one.name === name)
    ?.read()) as Figure;
  return typeof figure === 'number' ? figure : figure.reduce((sum, { value }) => sum + value, 0);
}

/** An answer, read from the bytes that the server has sent. */
interface Answer {
  readonly status: number;
  readonly reason: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** All whole answers in what a server sent. */
function answersIn(bytes: Buffer): Answer[] {
  const answers: Answer[] = [];
  for (let from = 0; ;) {
    const headEnd = bytes.indexOf('\r\n\r\n', from);
    if (headEnd < 0) return answers;
    const [first = '', ...lines] = bytes.toString('latin1', from, headEnd).split('\r\n');
    const [, status = '', reason = ''] = /^HTTP\/1\.1 (\d{3}) (.*)$/.exec(first) ?? [];
    const pairs = lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()] as const);
    if (new Set(pairs.map(([name]) => name)).size < pairs.length) throw new Error(`a header twice: ${lines.join()}`);
    const headers = Object.fromEntries(pairs);
    const length = Number(headers['content-length'] ?? NaN);
    if (!(length >= 0)) throw new Error(`an answer of unknown length: ${first}`);
    const bodyEnd = headEnd + 4 + length;
    if (bodyEnd > bytes.length) return answers;
    answers.push({ status: Number(status), reason, headers, body: bytes.toString('utf8', headEnd + 4, bodyEnd) });
    from = bodyEnd;
  }
}

/** A client that writes bytes, and sees all that comes back. */
class Client {
  readonly #chunks: Buffer[] = [];
  #sent = 0;
  /** The server has ended the connection, or it is broken. */
  isOver = false;

  private constructor(
    readonly socket: Socket,
    /** The server's side. */
    readonly other: Socket,
  ) {
    socket.on('data', (chunk) => this.#chunks.push(chunk));
    for (const event of ['end', 'close']) socket.on(event, () => (this.isOver = true));
  }

  static async to({ port, sockets }: Running): Promise<Client> {
    const before = sockets.length;
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true });
    socket.on('error', () => {});
    await once(socket, 'connect');
    await until('the server has the connection', () => sockets.length > before);
    return new Client(socket, sockets[before]!);
  }

  get answers(): Answer[] {
    return answersIn(Buffer.concat(this.#chunks));
  }

  /** Resolves when the server has read all of it, so that what is sent next comes as bytes of its own. */
  async send(bytes: string): Promise<void> {
    this.#sent += bytes.length;
    this.socket.write(bytes, 'latin1');
    await until('the server has read what was sent', () => this.isOver || this.other.bytesRead >= this.#sent);
  }

  async answer(count: number): Promise<Answer> {
    await until(`${count} answers have come`, () => this.answers.length >= count || this.isOver);
    expect(this.answers).toHaveLength(count);
    return this.answers.at(-1)!;
  }

  async over(): Promise<void> {
    await until('the server has ended the connection', () => this.isOver);
    this.socket.destroy();
  }
}

interface Request {
  readonly first?: string;
  readonly key?: string;
  readonly type?: string;
  /** What the head says, whatever the body has. */
  readonly length?: number;
  readonly more?: readonly string[];
}

/** The bytes of a request. What it has of itself is plain. */
function post(
  body: string,
  { first = 'POST /ingest HTTP/1.1', key = main.keys.write, type = 'application/json', length, more = [] }: Request = {},
): string {
  const lines = ['Host: h', `x-api-key: ${key}`, `Content-Type: ${type}`, `Content-Length: ${length ?? body.length}`];
  return [first, ...lines, ...more, '', body].join('\r\n');
}

let main: Running;
beforeAll(async () => {
  main = await run();
});
afterAll(() => main.app.close());

const letGo = Symbol('what the route holds is answered');
const end = Symbol('the client ends its side');
/** Bytes to send, or a number of answers to wait for. */
type Step = string | number | typeof letGo | typeof end;

/** An answer without what differs from one to the next. Where a problem says nothing of its connection, it is kept as by HTTP/1.1. */
function comparable({ status, reason, headers, body }: Answer): unknown {
  const { 'x-request-id': id, date, connection = 'keep-alive', 'keep-alive': keepAlive, ...others } = headers;
  return {
    status,
    reason,
    headers: { ...others, connection, ...(status === 200 && { 'keep-alive': keepAlive }) },
    isNamed: /^req_\w+$/.test(id!),
    isDated: Math.abs(Date.parse(date ?? '') - Date.now()) < 60_000,
    body: body.replace(`"request_id":"${id}"`, '"request_id":""'),
  };
}

/** What a client, the route and the observer see of a conversation. */
async function conversation(running: Running, steps: readonly Step[], statuses: number, ends: boolean) {
  taken.length = answered.length = 0;
  const before = running.viaHttp();
  const client = await Client.to(running);
  if (steps.includes(letGo)) shut();
  for (const step of steps) {
    if (typeof step === 'string') await client.send(step);
    else if (typeof step === 'number') await client.answer(step);
    else if (step === letGo) open();
    else client.socket.end();
  }
  await until(`${statuses} answers have come`, () => client.answers.length >= statuses || client.isOver);
  if (ends) await client.over();
  const { isOver, answers } = client;
  await until(`the observer was told of ${statuses}`, () => answered.length >= statuses);
  client.socket.destroy();
  await until('the server has closed the connection', () => client.other.closed);
  return {
    viaHttp: running.viaHttp() - before,
    statuses: answers.map(({ status }) => status),
    ids: {
      answers: answers.map(({ headers }) => headers['x-request-id']),
      answered: answered.map(({ requestId }) => requestId),
      taken: taken.map(({ id }) => id),
    },
    told: {
      isOver,
      answers: answers.map(comparable),
      answered: answered.map((one) => ({ ...one, requestId: '', durationMs: one.durationMs >= 0, failure: one.failure?.code })),
      taken: taken.map((one) => ({ ...one, id: '' })),
    },
  };
}

/** Writes a request as it is, or with a header that changes nothing but that it goes to `node:http`. */
type Ask = (body: string, request?: Request) => string;

const plain: Ask = (body, request) => post(body, request);
const unusual: Ask = (body, request = {}) => post(body, { ...request, more: [...(request.more ?? []), 'X-Any: 1'] });

/** A request in two halves, the first of which ends with a text that is in it once. */
function halves(request: string, behind: string): [string, string] {
  const at = request.indexOf(behind) + behind.length;
  return [request.slice(0, at), request.slice(at)];
}

const text = 'x'.repeat(3000);

/**
 * @param viaHttp how many of the requests `node:http` sees although they are plain.
 * @param ends the server ends the connection.
 */
type Row = readonly [what: string, viaHttp: number, statuses: readonly number[], steps: (ask: Ask) => readonly Step[], ends?: 'ends'];

const whole: readonly Row[] = [
  ['one request', 0, [200], (ask) => [ask('{}')]],
  ['a body of one byte', 0, [200], (ask) => [ask('1')]],
  ['a body of all bytes that there are', 0, [200], (ask) => [ask(String.fromCharCode(...Array(256).keys()))]],
  ['a longer body', 0, [200], (ask) => [ask(text)]],
  ['two longer bodies in turn', 0, [200, 200], (ask) => [ask(text), 1, ask(`${text}y`)]],
  ['a body like a request', 0, [200], (ask) => [ask(post('{}'))]],
  ['a traceparent', 0, [200], (ask) => [ask('{}', { more: ['traceparent: 00-0af7-b7ad-01'] })]],
  ['an empty traceparent', 0, [200], (ask) => [ask('{}', { more: ['traceparent:'] })]],
  ['a traceparent in Latin-1', 0, [200], (ask) => [ask('{}', { more: ['traceparent: \xe9'] })]],
  ['blanks around values', 0, [200], (ask) => [ask('{}').replaceAll(/: (.+)\r/g, ':\t $1 \t\r')]],
  ['a type with parameters', 0, [200], (ask) => [ask('{}', { type: 'Application/JSON; charset=utf-8' })]],
  ['a type with a semicolon', 0, [200], (ask) => [ask('{}', { type: 'application/json;' })]],
  ['a type with a broken parameter', 0, [200], (ask) => [ask('{}', { type: 'application/json; charset' })]],
  ['a type with an open quote', 0, [200], (ask) => [ask('{}', { type: 'application/json; charset="utf-8' })]],
  ['a type with two semicolons', 0, [200], (ask) => [ask('{}', { type: 'application/json;; a=b' })]],
  ['a type with a blank before the semicolon', 0, [200], (ask) => [ask('{}', { type: 'application/json ; a=b' })]],
  ['a type with a no-break space', 0, [200], (ask) => [ask('{}', { type: 'application/json\xa0' })]],
  ['a head of more than 2 KiB', 1, [200], (ask) => [ask('{}', { more: [`Accept: ${text}`] })]],
  ['the wish to end', 1, [200], (ask) => [ask('{}', { more: ['Connection: close'] })], 'ends'],
  ['HTTP/1.0', 1, [200], (ask) => [ask('{}', { first: 'POST /ingest HTTP/1.0' })], 'ends'],
  ['a query string', 0, [200], (ask) => [ask('{}', { first: 'POST /ingest?a=b HTTP/1.1' })]],
  ['an empty line first', 1, [200], (ask) => [`\r\n${ask('{}')}`]],
];

const several: readonly Row[] = [
  ['three in turn', 0, [200, 200, 200], (ask) => [ask('1'), 1, ask(text), 2, ask('3')]],
  ['two in turn, the second unusual', 1, [200, 200], (ask) => [ask('1'), 1, ask('2', { more: ['X-Other: 1'] })]],
  ['three in turn, the first unusual', 3, [200, 200, 200], (ask) => [ask('1', { more: ['X-Other: 1'] }), 1, ask('2'), 2, ask('3')]],
  ['three in turn, the second refused', 2, [200, 401, 200], (ask) => [ask('1'), 1, ask('2', { key: 'hw_wrong' }), 2, ask('3')]],
  ['three in turn, the second fails', 0, [200, 503, 200], (ask) => [ask('1'), 1, ask('silent'), 2, ask('3')]],
  ['two in one piece', 2, [200, 200], (ask) => [ask('1') + ask('2')]],
  ['five in one piece', 5, [200, 200, 200, 200, 200], (ask) => [['1', '2', '3', '4', '5'].map((body) => ask(body)).join('')]],
  [
    'one and the half of another in one piece',
    2,
    [200, 200],
    (ask) => [ask('1') + halves(ask('2'), 'Host')[0], 1, halves(ask('2'), 'Host')[1]],
  ],
  ['a second while the first is under way', 1, [200, 200], (ask) => [ask('1'), ask('2'), letGo]],
  ['a longer one while the first is under way', 1, [200, 200], (ask) => [ask('1'), ask(text.repeat(9)), letGo]],
  ['three while the first is under way', 3, [200, 200, 200, 200], (ask) => [ask('1'), ask('2'), ask('3'), ask('4'), letGo]],
  ['three in one piece while the first is under way', 3, [200, 200, 200, 200], (ask) => [ask('1'), ask('2') + ask('3') + ask('4'), letGo]],
  ['a second in two pieces while the first is under way', 1, [200, 200], (ask) => [ask('1'), ...halves(ask('2'), 'Host'), letGo]],
  [
    'half of a second while the first is under way',
    1,
    [200, 200],
    (ask) => [ask('1'), halves(ask('2'), 'Host')[0], letGo, 1, halves(ask('2'), 'Host')[1]],
  ],
  ['a second while the first is under way, which fails', 1, [503, 200], (ask) => [ask('silent'), ask('2'), letGo]],
  ['nonsense behind the first', 0, [200, 400], (ask) => [ask('1'), 1, 'nonsense\r\n\r\n'], 'ends'],
  ['nonsense behind the first in one piece', 1, [200], (ask) => [`${ask('1')}nonsense\r\n\r\n`], 'ends'],
  ['the end behind the first', 0, [200], (ask) => [ask('1'), 1, end], 'ends'],
];

const cut: readonly Row[] = [
  ...[
    'PO',
    '/ing',
    'HTTP/1.1\r',
    'HTTP/1.1\r\n',
    'Ho',
    'x-api-key: hw',
    'Content-Len',
    'Content-Length: 1',
    'Length: 12\r\n\r',
    'Length: 12\r\n\r\n',
  ].map((behind): Row => [`two halves, cut behind ${JSON.stringify(behind)}`, 1, [200], (ask) => halves(ask('{"points":1}'), behind)]),
  ['two halves, cut in the body', 1, [200], (ask) => halves(ask('{"points":1}'), '{"po')],
  ['two halves, cut before the last byte', 1, [200], (ask) => halves(ask('{"points":1}'), '{"points":1')],
  ['two halves, and a whole one later', 2, [200, 200], (ask) => [...halves(ask('1'), 'Host'), 1, ask('2')]],
  ['a byte at a time', 1, [200], (ask) => ask('{}').split('')],
  ['a body that is too long by a byte', 1, [200], (ask) => [ask('{} ', { length: 2 })], 'ends'],
  ['a body that is too short by a byte', 1, [400], (ask) => [ask('{}', { length: 3 }), end], 'ends'],
  ['a body that is too short by a byte, which comes', 1, [200], (ask) => [ask('{}', { length: 3 }), ' ']],
  ['a head that stops', 0, [400], (ask) => [halves(ask('{}'), 'Host')[0], end], 'ends'],
];

const refused: readonly Row[] = [
  ['no such key', 1, [401], (ask) => [ask('{}', { key: 'hw_wrong' })]],
  ['a key that only reads', 1, [403], (ask) => [ask('{}', { key: main.keys.read })]],
  ['a path that is none', 1, [404], (ask) => [ask('{}', { first: 'POST /nowhere HTTP/1.1' })]],
  ['the path and a slash', 1, [404], (ask) => [ask('{}', { first: 'POST /ingest/ HTTP/1.1' })]],
  ['another method', 1, [405], (ask) => [ask('{}', { first: 'PUT /ingest HTTP/1.1' })]],
  ['another type', 1, [415], (ask) => [ask('{}', { type: 'text/plain' })]],
  ['an empty body', 1, [200], (ask) => [ask('')]],
  ['a length with a sign', 0, [400], (ask) => [ask('{}').replace('Length: ', 'Length: +')], 'ends'],
  ['more than memory has room for', 1, [429], (ask) => [ask('x'.repeat(bodyBytes / 2 + 1))]],
  ['flaws in the body', 0, [400], (ask) => [ask('flawed')]],
  ['a log that does not answer', 0, [503], (ask) => [ask('silent')]],
  ['too much, says the route', 0, [429], (ask) => [ask('greedy')]],
  ['an error that nobody expects', 0, [500], (ask) => [ask('broken')]],
];

describe.each([
  ['whole', whole],
  ['several', several],
  ['cut', cut],
  ['refused', refused],
])('the answer and what is told of it are those of node:http, %s:', (_, rows) => {
  it.each(rows)('%s', async (...[, viaHttp, statuses, steps, ends]: Row) => {
    const direct = await conversation(main, steps(plain), statuses.length, ends === 'ends');
    const usual = await conversation(main, steps(unusual), statuses.length, ends === 'ends');
    expect(direct.told).toEqual(usual.told);
    expect(direct.statuses).toEqual(statuses);
    expect(direct.ids.answers).toEqual(direct.ids.answered);
    expect(direct.ids.answers).toEqual(expect.arrayContaining(direct.ids.taken));
    expect([direct.viaHttp, usual.viaHttp]).toEqual([viaHttp, usual.told.answered.filter(({ method }) => method !== '').length]);
    await until('nothing is under way', async () => (await flight()).every((value) => value === 0));
  });
});

/** What is under way and what it holds in memory. */
const flight = async (running = main) => [
  await measured(running, 'headwater_requests_under_way'),
  await measured(running, 'headwater_bodies_in_flight_bytes'),
  running.app.get(InFlight).shares.size,
];
const nothing = [0, 0, 0];

describe.each([
  ['direct', plain],
  ['by node:http', unusual],
] as const)('%s', (_, asked) => {
  it('a request holds its body in memory until its answer is out', async () => {
    shut();
    const client = await Client.to(main);
    await client.send(asked(text));
    await until('the route has it', () => taken.length === 1);
    const [underWay, bytes, holders] = await flight();
    expect([underWay, bytes, holders]).toEqual([1, text.length, 1]);
    const second = await Client.to(main);
    await second.send(asked('x'.repeat(bodyBytes / 2 - text.length + 1)));
    expect((await second.answer(1)).status).toBe(429);
    open();
    expect((await client.answer(1)).status).toBe(200);
    await until('nothing is under way', async () => (await flight()).every((value) => value === 0));
    client.socket.destroy();
    second.socket.destroy();
  });

  it('a request counts once against the rate of its organization, and so does its refusal', async () => {
    const key = await main.limited({ requests_per_s: 0.2 });
    const before = await measured(main, 'headwater_requests_over_rate');
    const steps = [1, 2, 3, 4, 5].flatMap((at) => [asked('{}', { key }), at]);
    const seen = await conversation(main, steps, 5, false);
    expect(seen.statuses).toEqual([200, 200, 200, 429, 429]);
    expect((await measured(main, 'headwater_requests_over_rate')) - before).toBe(2);
  });

  it('a key that is deleted is refused from then on', async () => {
    const key = await main.limited({});
    const client = await Client.to(main);
    await client.send(asked('{}', { key }));
    expect((await client.answer(1)).status).toBe(200);
    await main.deleteKey(key);
    await client.send(asked('{}', { key }));
    expect((await client.answer(2)).status).toBe(401);
    client.socket.destroy();
  });

  it('a client that resets its connection is told of once, and its body is held until the route is done', async () => {
    shut();
    const client = await Client.to(main);
    await client.send(asked(text));
    await until('the route has it', () => taken.length === 1);
    client.socket.resetAndDestroy();
    await until('the observer is told', () => answered.length > 0);
    const [underWay, bytes] = await flight();
    expect([underWay, bytes! >= text.length]).toEqual([0, true]);
    open();
    await until('nothing is held', async () => (await flight()).every((value) => value === 0));
    expect(answered).toMatchObject([{ route: '/ingest', status: 499, complete: false, failure: undefined, address: '127.0.0.1' }]);
  });

  it('a client that leaves in the middle of its answer is told of once, and nothing is held', async () => {
    const client = await Client.to(main);
    client.socket.pause();
    await client.send(asked('large'));
    await until('a part of the answer waits', () => client.other.writableLength > 0);
    expect(answered).toEqual([]);
    client.socket.resetAndDestroy();
    await until('the observer is told', () => answered.length > 0);
    expect(await flight()).toEqual(nothing);
    expect(answered).toMatchObject([{ route: '/ingest', status: 200, complete: false }]);
  });
});

it('nonsense while a request is under way is answered behind it', async () => {
  const { statuses, told } = await conversation(main, [plain('1'), 'nonsense\r\n\r\n', letGo], 2, true);
  expect(statuses).toEqual([200, 400]);
  expect(told.answered).toMatchObject([{ status: 200 }, { status: 400, method: '', failure: 'invalid_request' }]);
});

it('a client that does not read is cut off, and nothing is held', async () => {
  const other = await run({ writeStallMs: 400 });
  try {
    const client = await Client.to(other);
    client.socket.pause();
    await client.send(post('large', { key: other.keys.write }));
    await until('the connection is cut', () => client.other.destroyed);
    await until('the observer is told', () => answered.length > 0);
    expect(answered).toMatchObject([{ route: '/ingest', status: 200, complete: false }]);
    expect([await flight(other), other.viaHttp()]).toEqual([nothing, 0]);
    client.socket.destroy();
  } finally {
    await other.app.close();
  }
});

it('a key that fails counts once: the 21st is one too many', async () => {
  const other = await run();
  try {
    const codes: number[] = [];
    for (let at = 1; at <= 21; at++) {
      const client = await Client.to(other);
      await client.send(post('{}', { key: `hw_guess${at}` }));
      codes.push((await client.answer(1)).status);
      client.socket.destroy();
    }
    expect(codes).toEqual([...Array<number>(20).fill(401), 429]);
  } finally {
    await other.app.close();
  }
});

it('more different heads than are remembered', async () => {
  const before = main.viaHttp();
  const client = await Client.to(main);
  for (let at = 1; at <= 600; at++) {
    await client.send(plain(`${at}`, { more: [`traceparent: ${at}`] }));
    await client.answer(at);
  }
  expect(taken.map(({ body, traceparent }) => `${body} ${traceparent}`)).toEqual(
    Array.from({ length: 600 }, (_, at) => `${at + 1} ${at + 1}`),
  );
  expect(main.viaHttp()).toBe(before);
  client.socket.destroy();
});

describe('a client that ends its side', () => {
  it('after its request gets its answer, then the end of the connection', async () => {
    shut();
    const before = main.viaHttp();
    const client = await Client.to(main);
    await client.send(plain('{}'));
    client.socket.end();
    await until('the server knows', () => client.other.readableEnded);
    expect(client.isOver).toBe(false);
    open();
    const { status, headers } = await client.answer(1);
    expect([status, headers['connection'], headers['keep-alive']]).toEqual([200, 'close', undefined]);
    await client.over();
    await until('the observer is told', () => answered.length > 0);
    expect(answered).toMatchObject([{ status: 200, complete: true }]);
    expect([main.viaHttp() - before, await flight()]).toEqual([0, nothing]);
  });

  // The server cannot tell a client that is gone from one that waits for its answer, before the answer is sent.
  it('for good is told of once, and leaves nothing behind', async () => {
    shut();
    const client = await Client.to(main);
    await client.send(plain('{}'));
    client.socket.destroy();
    await until('the server knows', () => client.other.readableEnded || client.other.destroyed);
    open();
    await until('the connection is closed', () => client.other.destroyed);
    await until('nothing is under way', async () => (await flight()).every((value) => value === 0));
    expect(answered).toHaveLength(1);
  });

  it.each(['end', 'resetAndDestroy'] as const)('by %s with a second request on its way leaves nothing behind', async (leave) => {
    shut();
    const client = await Client.to(main);
    await client.send(plain('1'));
    await client.send(plain('2'));
    client.socket[leave]();
    open();
    await until('the connection is closed', () => client.other.destroyed);
    await until('nothing is under way', async () => (await flight()).every((value) => value === 0));
    expect(answered.length).toBe(taken.length);
    client.socket.destroy();
  });

  it.each(['end', 'destroy', 'resetAndDestroy'] as const)('before any request, by %s, is told of to nobody', async (leave) => {
    const client = await Client.to(main);
    client.socket[leave]();
    await until('the connection is closed', () => client.other.destroyed);
    expect([answered, await flight()]).toEqual([[], nothing]);
  });
});

describe('a connection that is idle', () => {
  it('is closed by closeIdleConnections, one with a request under way is not', async () => {
    const [idle, silent, busy] = [await Client.to(main), await Client.to(main), await Client.to(main)];
    await idle.send(plain('1'));
    await idle.answer(1);
    shut();
    await busy.send(plain('2'));
    main.server.closeIdleConnections();
    await Promise.all([idle.over(), silent.over()]);
    open();
    expect((await busy.answer(1)).headers['connection']).toBe('keep-alive');
    await busy.send(plain('3'));
    await busy.answer(2);
    expect([idle.answers.length, silent.answers.length, busy.isOver]).toEqual([1, 0, false]);
    main.server.closeIdleConnections();
    await busy.over();
  });

  it('is closed by closeAllConnections, as is one with a request under way', async () => {
    const [idle, busy, usual] = [await Client.to(main), await Client.to(main), await Client.to(main)];
    await idle.send(plain('1'));
    await idle.answer(1);
    await usual.send(unusual('2'));
    await usual.answer(1);
    await until('the observer is told of both', () => answered.length === 2);
    shut();
    await busy.send(plain('3'));
    main.server.closeAllConnections();
    await Promise.all([idle.over(), busy.over(), usual.over()]);
    await until('the observer is told', () => answered.length === 3);
    expect(answered.at(-1)).toMatchObject({ status: 499, complete: false });
    open();
    await until('nothing is held', async () => (await flight()).every((value) => value === 0));
  });

  it('is closed once the time is over that it is kept alive, or that a first request may take', async () => {
    const other = await run({ requestTimeoutMs: 3000 });
    try {
      other.server.keepAliveTimeout = 1000;
      const [idle, silent, busy] = [await Client.to(other), await Client.to(other), await Client.to(other)];
      await idle.send(post('1', { key: other.keys.write }));
      expect((await idle.answer(1)).headers['keep-alive']).toBe('timeout=1');
      shut();
      await busy.send(post('2', { key: other.keys.write }));
      await Promise.all([idle.over(), silent.over()]);
      expect(busy.isOver).toBe(false);
      open();
      expect((await busy.answer(1)).status).toBe(200);
      await busy.over();
      expect(other.viaHttp()).toBe(0);
    } finally {
      open();
      await other.app.close();
    }
  }, 40_000);
});

describe('a server that stops', () => {
  it('is closed at once where connections are idle', async () => {
    const other = await run();
    const [idle, silent] = [await Client.to(other), await Client.to(other)];
    await idle.send(post('1', { key: other.keys.write }));
    await idle.answer(1);
    await other.app.close();
    await Promise.all([idle.over(), silent.over()]);
    expect(answered).toMatchObject([{ status: 200, complete: true }]);
  }, 10_000);

  it('gives the answer that is under way, and says that it is the last', async () => {
    const other = await run();
    const client = await Client.to(other);
    shut();
    await client.send(post('1', { key: other.keys.write }));
    const closed = other.app.close();
    await until('it does not listen any more', () => !other.server.listening);
    open();
    const { status, headers } = await client.answer(1);
    expect([status, headers['connection'], headers['keep-alive']]).toEqual([200, 'close', undefined]);
    await client.over();
    await closed;
  }, 20_000);

  it('drains: the answers that are due say that they are the last, and connections end', async () => {
    const other = await run();
    const ofKey = (body: string): string => post(body, { key: other.keys.write });
    const [busy, idle, silent] = [await Client.to(other), await Client.to(other), await Client.to(other)];
    await idle.send(ofKey('1'));
    await idle.answer(1);
    shut();
    await busy.send(ofKey('2'));
    const drained = other.app.get(Traffic).drain(other.server);
    await idle.send(ofKey('3'));
    open();
    for (const [client, count] of [
      [busy, 1],
      [idle, 2],
    ] as const) {
      const { status, headers } = await client.answer(count);
      expect([status, headers['connection'], headers['keep-alive']]).toEqual([200, 'close', undefined]);
    }
    await Promise.all([busy.over(), idle.over(), silent.over()]);
    await drained;
    await until('the observer is told of all', () => answered.length === 3);
    expect(answered.map(({ status, complete }) => [status, complete])).toEqual([
      [200, true],
      [200, true],
      [200, true],
    ]);
    expect([await flight(other), other.viaHttp()]).toEqual([nothing, 1]);
    await other.app.close();
  }, 60_000);
});
