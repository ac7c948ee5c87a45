import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Body, Controller, Delete, Get, Module, Param, Patch, Post, Put } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { once } from 'node:events';
import { request as httpRequest, type OutgoingHttpHeaders } from 'node:http';
import { connect, type Socket } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';
import { z } from 'zod';
import { eventually, makeKey, MemoryLog, MemoryModule, sendThenRead } from '#testing';
import { Access, CallerParam, HeldParam } from './access.js';
import type { Answered } from './answered.js';
import { Answers } from './answers.js';
import { maxBodyBytes } from './read-body.js';
import { createHttpApp } from './http-app.js';
import { InFlight, type Held } from './in-flight.js';
import { JsonBody } from './json-body.js';
import { Organizations } from './organizations.js';
import type { Caller } from '#model';

const Thing = z.object({ name: z.string(), parts: z.array(z.object({ size: z.number() })).default([]) });

/** Lets a test hold requests in the handler. */
let gate: Promise<void> = Promise.resolve();

/** 64 MiB, more than a connection holds on its way. */
function* pieces(): Generator<Buffer, Buffer> {
  const piece = Buffer.alloc(1024 * 1024, ' ');
  for (let made = 0; made < 63; made++) yield piece;
  return piece;
}

@Controller()
class Things {
  constructor(private readonly answers: Answers) {}

  @Post('bytes')
  @Access({ scope: 'write' })
  async bytes(@Body() body: Buffer | undefined): Promise<{ bytes: number }> {
    await gate;
    return { bytes: body?.length ?? 0 };
  }

  @Post('things')
  json(@JsonBody(Thing) thing: z.output<typeof Thing>): unknown {
    return thing;
  }

  @Get('things/:id')
  async thing(@Param('id') id: string, @CallerParam() caller: Caller): Promise<unknown> {
    await gate;
    return { id, org: caller.orgId };
  }

  @Delete('things/:id')
  none(): void {}

  @Get('broken')
  broken(): never {
    throw new Error('the password is hunter2');
  }

  @Get('long')
  long(@HeldParam() held: Held): Promise<unknown> {
    return this.answers.of(held, pieces(), 7 * 1024 * 1024);
  }

  @Get('open')
  @Access({ key: false })
  open(): unknown {
    return { ok: true };
  }
}

@Controller('unpaid')
@Access({ scope: 'admin', payment: false })
class Unpaid {
  @Get('admin')
  admin(): unknown {
    return {};
  }

  @Get('write')
  @Access({ scope: 'write' })
  write(): unknown {
    return {};
  }
}

@Controller('settings')
class Settings {
  @Put(':id')
  put(@JsonBody(Thing) thing: z.output<typeof Thing>): unknown {
    return { put: thing.name };
  }

  @Patch(':id')
  patch(@JsonBody(Thing) thing: z.output<typeof Thing>): unknown {
    return { patched: thing.name };
  }
}

/** Pages of other origins may look, and do nothing. */
@Controller('account')
class Account {
  @Get()
  look(): unknown {
    return {};
  }

  @Put()
  @Access({ cors: false })
  put(): unknown {
    return {};
  }

  @Get('session')
  @Access({ key: false, cors: false })
  session(): unknown {
    return {};
  }
}

@Module({ controllers: [Things, Unpaid, Settings, Account] })
class Faces {}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly json: Record<string, unknown>;
}

let nowMs = Date.UTC(2026, 0, 1);
const drain = { bytes: 8 * 1024 * 1024, ms: 1000 };
const answered: Answered[] = [];
const keys = { write: '', read: '', unpaid: '', unpaidAdmin: '', other: '', third: '' };
const log = new MemoryLog();
let app: NestFastifyApplication;
let port: number;

beforeAll(async () => {
  app = await createHttpApp(
    { module: class Role {}, imports: [MemoryModule.of(log, () => nowMs), Faces] },
    {
      observer: (one) => answered.push(one),
      requestTimeoutMs: 2000,
      writeStallMs: 800,
      inFlight: { bodyBytes: 12 * 1024 * 1024, answerBytes: 12 * 1024 * 1024, reads: 3 },
      drain,
    },
  );
  await app.listen(0, '127.0.0.1');
  port = Number(new URL(await app.getUrl()).port);
  const organizations = app.get(Organizations);
  const paid = await organizations.create('Paid', true);
  const other = await organizations.create('Other', true);
  const unpaid = await organizations.create('Unpaid', false);
  keys.write = (await makeKey(log, paid.orgId, ['write'])).secret;
  keys.read = (await makeKey(log, paid.orgId, ['read'])).secret;
  keys.other = (await makeKey(log, other.orgId, ['write'])).secret;
  keys.third = (await makeKey(log, (await organizations.create('Third', true)).orgId, ['write'])).secret;
  keys.unpaid = (await makeKey(log, unpaid.orgId, ['read'])).secret;
  keys.unpaidAdmin = (await makeKey(log, unpaid.orgId, ['admin'])).secret;
});

afterAll(() => app.close());

async function ask(method: string, path: string, headers: OutgoingHttpHeaders = {}, body?: Buffer | string): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const outgoing = httpRequest({ port, host: '127.0.0.1', method, path, headers }, (incoming) => {
    text(incoming).then(
      (all) => resolve({ status: incoming.statusCode!, headers: incoming.headers, json: all ? JSON.parse(all) : {} }),
      reject,
    );
  });
  outgoing.on('error', reject).end(body);
  return promise;
}

const post = (body: Buffer | string, headers: OutgoingHttpHeaders = {}, key = keys.write): Promise<Answer> =>
  ask('POST', '/bytes', { 'content-type': 'application/json', 'x-api-key': key, ...headers }, body);

/** Writes bytes that no client would write; gives all that came until the server closed the connection. */
async function raw(write: (socket: Socket) => void): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  write(socket);
  return (await buffer(socket)).toString();
}

const head = (...lines: string[]): string => `${lines.join('\r\n')}\r\n\r\n`;

describe('who is let in', () => {
  it.each([
    ['/open', {}, 200, undefined],
    ['/things/1', {}, 401, 'invalid_key'],
    ['/things/1', { 'x-api-key': 'hw_short' }, 401, 'invalid_key'],
    ['/things/1?x-api-key=KEY&api_key=KEY', { cookie: 'x-api-key=KEY', authorization: 'Bearer KEY' }, 401, 'invalid_key'],
    ['/things/1', { 'x-api-key': ['KEY', 'KEY'] }, 401, 'invalid_key'],
    ['/things/1', { 'x-api-key': 'KEY' }, 200, undefined],
    ['/unpaid/admin', { 'x-api-key': 'KEY' }, 403, 'missing_scope'],
    ['/unpaid/write', { 'x-api-key': 'KEY' }, 200, undefined],
  ] as const)('GET %s with %j: %i %s', async (path, headers, status, code) => {
    const sent = JSON.parse(JSON.stringify(headers).replaceAll('KEY', keys.write)) as OutgoingHttpHeaders;
    const answer = await ask('GET', path.replaceAll('KEY', keys.write), sent);
    expect([answer.status, answer.json['code']]).toEqual([status, code]);
  });

  it.each([
    ['/things/1', 'unpaid', 402],
    ['/unpaid/admin', 'unpaid', 403],
    ['/unpaid/admin', 'unpaidAdmin', 200],
  ] as const)('GET %s with the key %s of an organization without a payment method: %i', async (path, key, status) => {
    expect((await ask('GET', path, { 'x-api-key': keys[key] })).status).toBe(status);
  });

  it('says how to authenticate, and the same to all', async () => {
    const answers = await Promise.all(
      [undefined, 'x', `${keys.write}x`].map((key) => ask('GET', '/things/1', { ...(key && { 'x-api-key': key }) })),
    );
    expect(new Set(answers.map(({ headers }) => headers['www-authenticate']))).toEqual(new Set(['ApiKey']));
    expect(new Set(answers.map(({ json }) => JSON.stringify({ ...json, request_id: '' }))).size).toBe(1);
  });
});

it.each([
  ['POST', '/bytes', 201],
  ['POST', '/things', 201],
  ['PUT', '/settings/1', 200],
  ['PATCH', '/settings/1', 200],
  ['DELETE', '/things/1', 200],
])('%s %s is a request of the rate of its organization, and reading is none', async (method, path, status) => {
  const { orgId } = await app.get(Organizations).create('Slow', true, { limits: { requests_per_s: 0.2 } });
  const { secret } = await makeKey(log, orgId, ['write']);
  const headers = { 'x-api-key': secret, 'content-type': 'application/json' };
  const statuses = async (how: string, to: string, body?: string): Promise<number[]> => {
    const found: number[] = [];
    for (let at = 0; at < 4; at++) found.push((await ask(how, to, headers, body)).status);
    return found;
  };
  expect(await statuses(method, path, method === 'DELETE' ? undefined : '{"name":"x"}')).toEqual([status, status, status, 429]);
  expect(await statuses('GET', '/things/1')).toEqual([200, 200, 200, 200]);
});

describe('an address that tries many keys', () => {
  const guess = (at: number): Promise<Answer> => ask('GET', '/things/1', { 'x-api-key': `hw_guess${at}` });

  it('is slowed down after 20 in a minute, for keys that are new', async () => {
    nowMs += 60_000;
    const first = await Promise.all(Array.from({ length: 20 }, (_, at) => guess(at)));
    expect(new Set(first.map(({ status }) => status))).toEqual(new Set([401]));
    const late = await guess(21);
    expect([late.status, late.json['code'], late.headers['retry-after']]).toEqual([429, 'too_many_failed_keys', '60']);
    expect((await guess(3)).status).toBe(401);
    expect((await ask('GET', '/things/1', { 'x-api-key': keys.read })).status).toBe(200);
    nowMs += 60_000;
    expect((await guess(21)).status).toBe(401);
  });
});

describe('a body', () => {
  const json = JSON.stringify({ text: 'x'.repeat(1000) });
  const big = Buffer.alloc(maxBodyBytes, ' ');
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));
  const random = Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 2_654_435_761) >>> 11));
  const noise = gzipSync(random);
  it.each([
    ['plain', json, {}, 200, json.length],
    ['with parameters in its type', json, { 'content-type': 'Application/JSON; charset=utf-8' }, 200, json.length],
    ['of exactly 5 MiB', big, {}, 200, maxBodyBytes],
    ['of 5 MiB and a byte', Buffer.concat([big, Buffer.from(' ')]), {}, 413, 'body_too_large'],
    ['of 5 MiB and a byte, in chunks', Buffer.concat([big, Buffer.from(' ')]), { 'transfer-encoding': 'chunked' }, 413, 'body_too_large'],
    ['in chunks', json, { 'transfer-encoding': 'chunked' }, 200, json.length],
    ['gzip', gzipSync(json), { 'content-encoding': 'gzip' }, 200, json.length],
    ['gzip, in capitals', gzipSync(json), { 'content-encoding': 'GZIP' }, 200, json.length],
    ['gzip over 64 KiB', noise, { 'content-encoding': 'gzip' }, 200, random.length],
    ['gzip in two members', Buffer.concat([gzipSync(json), gzipSync(json)]), { 'content-encoding': 'gzip' }, 200, 2 * json.length],
    ['gzip of exactly 5 MiB', gzipSync(big), { 'content-encoding': 'gzip' }, 200, maxBodyBytes],
    ['gzip of more than 5 MiB', bomb, { 'content-encoding': 'gzip' }, 413, 'body_too_large'],
    ['gzip with a byte after it', Buffer.concat([gzipSync(json), Buffer.from([0])]), { 'content-encoding': 'gzip' }, 400, 'invalid_gzip'],
    [
      'gzip over 64 KiB with a byte after it',
      Buffer.concat([noise, Buffer.from([0])]),
      { 'content-encoding': 'gzip' },
      400,
      'invalid_gzip',
    ],
    ['gzip with text after it', Buffer.concat([gzipSync(json), Buffer.from('more')]), { 'content-encoding': 'gzip' }, 400, 'invalid_gzip'],
    ['gzip cut short', gzipSync(json).subarray(0, -5), { 'content-encoding': 'gzip' }, 400, 'invalid_gzip'],
    ['gzip that is none', json, { 'content-encoding': 'gzip' }, 400, 'invalid_gzip'],
    ['identity', json, { 'content-encoding': 'identity' }, 200, json.length],
    ['br', json, { 'content-encoding': 'br' }, 415, 'unsupported_content_encoding'],
    ['gzip twice', gzipSync(gzipSync(json)), { 'content-encoding': 'gzip, gzip' }, 415, 'unsupported_content_encoding'],
    ['of text', json, { 'content-type': 'text/plain' }, 415, 'unsupported_content_type'],
    ['of a type like JSON', json, { 'content-type': 'application/jsonp' }, 415, 'unsupported_content_type'],
    ['of a form', json, { 'content-type': 'application/x-www-form-urlencoded' }, 415, 'unsupported_content_type'],
    ['that is empty', '', {}, 200, 0],
  ] as const)('%s', async (_, body, headers, status, outcome) => {
    const answer = await post(body, headers);
    expect([answer.status, answer.json['bytes'] ?? answer.json['code']]).toEqual([status === 200 ? 201 : status, outcome]);
    expect(answer.headers['accept-encoding']).toBe(outcome === 'unsupported_content_encoding' ? 'gzip' : undefined);
    expect(app.get(InFlight).bodyBytes).toBe(0);
  });

  it('without a type is refused', async () => {
    const answer = await ask('POST', '/bytes', { 'x-api-key': keys.write }, json);
    expect(answer.json['code']).toBe('unsupported_content_type');
  });

  it('that announces too much is refused before it is sent', async () => {
    const all = await raw((socket) =>
      socket.write(
        head('POST /bytes HTTP/1.1', 'host: h', `x-api-key: ${keys.write}`, 'content-type: application/json', 'content-length: 5242881'),
      ),
    );
    expect(all).toMatch(/^HTTP\/1\.1 413 /);
  });
});

describe('a client that sends all of its request before it reads', () => {
  const json = 'content-type: application/json';
  const big = Buffer.alloc(maxBodyBytes + 1, ' ');
  const start = (line: string, ...headers: string[]): string[] => [`${line} HTTP/1.1`, 'host: h', ...headers];
  const to = (path: string, key: string, ...headers: string[]): string[] => start(`POST ${path}`, `x-api-key: ${key}`, ...headers);

  const refusals: readonly (readonly [what: string, status: number, lines: () => readonly string[]])[] = [
    ['no key', 401, () => start('POST /bytes', json)],
    ['no payment method', 402, () => to('/things', keys.unpaid, json)],
    ['no scope', 403, () => to('/bytes', keys.read, json)],
    ['no such route', 404, () => to('/nowhere', keys.write, json)],
    ['no such method', 405, () => start('PUT /bytes', json)],
    ['too much', 413, () => to('/bytes', keys.write, json)],
    ['no JSON', 415, () => to('/bytes', keys.write, 'content-type: text/plain')],
    ['an unknown encoding', 415, () => to('/bytes', keys.write, json, 'content-encoding: br')],
    ['a URL that is none', 400, () => start('POST http://[', json)],
  ];
  const broken: typeof refusals = [
    ['headers that are too large', 431, () => start('POST /bytes', `x-long: ${'h'.repeat(17_000)}`)],
    ['two lengths', 400, () => start('POST /bytes', json, 'content-length: 7')],
  ];
  const url = (): string => `http://127.0.0.1:${port}`;
  const length = `content-length: ${big.length}`;

  it.each([...refusals, ...broken])('sees the refusal of %s where it ends the connection: %i', async (_, status, lines) => {
    for (let time = 0; time < 3; time++) {
      const answer = await sendThenRead(url(), [head(...lines(), 'connection: close', length), big]);
      expect([answer.status, answer.headers['connection']]).toEqual([status, 'close']);
    }
  });

  it.each(refusals)('sees the refusal of %s, and the next answer of the connection: %i', async (_, status, lines) => {
    const next = head('GET /open HTTP/1.1', 'host: h', 'connection: close');
    const { all } = await sendThenRead(url(), [head(...lines(), length), big, next]);
    expect(all.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual([`${status}`, '200']);
  });

  it('sees the refusal of a body in chunks', async () => {
    const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(0x100000, ' '), Buffer.from('\r\n')]);
    const chunks = [...Array.from({ length: 8 }, () => chunk), '0\r\n\r\n'];
    const lines = to('/bytes', keys.write, json, 'transfer-encoding: chunked', 'connection: close');
    for (let time = 0; time < 3; time++) {
      expect((await sendThenRead(url(), [head(...lines), ...chunks])).status).toBe(413);
    }
  });

  it.each([
    ['ends', 'connection: close'],
    ['goes on', 'x: y'],
    ['is broken', `x: ${'h'.repeat(17_000)}`],
  ])('and never stops is cut off, where the connection %s', async (_, header) => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(head(...to('/bytes', 'none', json, header, 'content-length: 1000000000000')));
    for (let open = true; open;)
      open = await new Promise<boolean>((resolve) => {
        socket.once('close', () => resolve(false));
        socket.write(big, (error) => resolve(!error));
      });
    expect(socket.bytesWritten).toBeGreaterThan(drain.bytes);
    expect(socket.bytesWritten).toBeLessThan(4 * drain.bytes);
  });

  it.each([
    ['ends', 'connection: close'],
    ['is broken', `x: ${'h'.repeat(17_000)}`],
  ])('and never leaves is cut off after a while, where the connection %s', async (_, header) => {
    const accepted = once(app.getHttpServer(), 'connection');
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.write(head(...to('/bytes', 'none', json, header, 'content-length: 10')));
    expect((await buffer(socket)).toString()).toMatch(/^HTTP\/1\.1 4/);
    const [far] = (await accepted) as [Socket];
    expect(far.destroyed).toBe(false);
    await eventually(() => expect(far.destroyed).toBe(true));
    socket.destroy();
  });

  it('is told to go on only when its body is wanted', async () => {
    const waiting = (key: string): string => head(...to('/bytes', key, json, 'content-length: 2', 'expect: 100-continue'));
    const refused = await raw((socket) => socket.write(waiting('none')));
    expect(refused.match(/HTTP\/1\.1 \d+|connection: close/g)).toEqual(['HTTP/1.1 401', 'connection: close']);
    const taken = await raw((socket) => {
      socket.write(waiting(keys.write));
      socket.once('data', () => socket.write(`{}${head('GET /open HTTP/1.1', 'host: h', 'connection: close')}`));
    });
    expect(taken.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 100', 'HTTP/1.1 201', 'HTTP/1.1 200']);
  });
});

describe('JSON', () => {
  it.each([
    ['{"name": "a"}', 201, { name: 'a', parts: [] }],
    ['{"name": "a", "__proto__": {"x": 1}}', 201, { name: 'a', parts: [] }],
    [
      '{"name": 1, "parts": [{"size": 1}, {"size": "x"}]}',
      400,
      { code: 'invalid_body', errors: [{ pointer: '/name' }, { pointer: '/parts/1/size' }] },
    ],
    ['[]', 400, { code: 'invalid_body', errors: [{ pointer: '' }] }],
    ['{', 400, { code: 'invalid_json' }],
    ['', 400, { code: 'invalid_json' }],
  ])('%s: %i', async (body, status, expected) => {
    const answer = await ask('POST', '/things', { 'x-api-key': keys.read, 'content-type': 'application/json' }, body);
    expect(answer.status).toBe(status);
    expect(answer.json).toMatchObject(expected);
  });
});

describe('PUT and PATCH', () => {
  const json = { 'content-type': 'application/json' };
  it.each([
    ['PUT', 200, { put: 'a' }],
    ['PATCH', 200, { patched: 'a' }],
  ])('%s takes a body: %i', async (method, status, expected) => {
    const answer = await ask(method, '/settings/1', { ...json, 'x-api-key': keys.read }, '{"name":"a"}');
    expect([answer.status, answer.json]).toEqual([status, expected]);
    const gzipped = await ask(method, '/settings/1', { ...json, 'content-encoding': 'gzip' }, gzipSync('{"name":"a"}'));
    expect([gzipped.status, gzipped.json['code']]).toEqual([401, 'invalid_key']);
  });
});

describe('where no route is', () => {
  it.each([
    ['GET', '/settings/1', 405, 'method_not_allowed', 'PATCH, PUT'],
    ['GET', '/nowhere', 404, 'unknown_route', undefined],
    ['POST', '/nowhere', 404, 'unknown_route', undefined],
    ['GET', '/bytes', 405, 'method_not_allowed', 'POST'],
    ['PUT', '/things/1', 405, 'method_not_allowed', 'DELETE, GET, HEAD'],
    ['PROPFIND', '/things/1', 405, 'method_not_allowed', 'DELETE, GET, HEAD'],
    ['TRACE', '/things/1', 405, 'method_not_allowed', 'DELETE, GET, HEAD'],
    ['GET', '/things/', 404, 'unknown_route', undefined],
    ['GET', '/things//', 404, 'unknown_route', undefined],
    ['GET', '//evil.example/things', 404, 'unknown_route', undefined],
  ])('%s %s: %i %s', async (method, path, status, code, allow) => {
    const answer = await ask(method, path, { 'x-api-key': keys.read });
    expect([answer.status, answer.json['code'], answer.headers['allow']]).toEqual([status, code, allow]);
    expect(answer.headers['x-request-id']).toBe(answer.json['request_id']);
    expect(answer.headers['content-type']).toBe('application/problem+json');
  });

  it.each(['x'.repeat(4000), 'a%2fb', '%c0%af', '100%'])('the id %s is for its route to judge', async (id) => {
    expect((await ask('GET', `/things/${id}`, { 'x-api-key': keys.read })).json['id']).toBe(id.replace('%2f', '/'));
    expect((await ask('GET', `/things/${id}`)).status).toBe(401);
  });
});

describe('what is no HTTP request', () => {
  const key = (): string => `x-api-key: ${keys.write}`;
  it.each([
    ['a URL of 20 KB', () => head(`GET /${'u'.repeat(20_000)} HTTP/1.1`, 'host: h'), 414, 'uri_too_long'],
    ['a header of 17 KB', () => head('GET /open HTTP/1.1', 'host: h', `x: ${'h'.repeat(17_000)}`), 431, 'headers_too_large'],
    [
      '10,000 headers',
      () => head('GET /open HTTP/1.1', 'host: h', ...Array.from({ length: 10_000 }, (_, at) => `h${at}: 1`)),
      431,
      'headers_too_large',
    ],
    ['no HTTP at all', () => 'hello\r\n\r\n', 400, 'invalid_request'],
    ['a control character in a header', () => head('GET /open HTTP/1.1', 'host: h', 'x: a\u0001b'), 400, 'invalid_request'],
    [
      'Transfer-Encoding and Content-Length',
      () =>
        head('POST /bytes HTTP/1.1', 'host: h', key(), 'content-type: application/json', 'transfer-encoding: chunked', 'content-length: 5'),
      400,
      'invalid_request',
    ],
    [
      'a bad chunk',
      () => `${head('POST /bytes HTTP/1.1', 'host: h', key(), 'content-type: application/json', 'transfer-encoding: chunked')}zz\r\n`,
      400,
      'invalid_request',
    ],
    [
      'a body that never ends',
      () => `${head('POST /bytes HTTP/1.1', 'host: h', key(), 'content-type: application/json', 'content-length: 10')}{`,
      503,
      'slow_body',
    ],
    ['a head that never ends', () => 'GET /open HTTP/1.1\r\nhost: h\r\n', 503, 'slow_body'],
  ])('%s', async (_, bytes, status, code) => {
    const all = await raw((socket) => socket.write(bytes()));
    const [top = '', body = ''] = all.split('\r\n\r\n');
    expect(top).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(top.toLowerCase()).toContain('\r\nconnection: close');
    expect(top.toLowerCase().includes('\r\nretry-after: 1')).toBe(status === 503);
    const problem = JSON.parse(body) as Record<string, unknown>;
    await eventually(() => expect(answered.at(-1)).toMatchObject({ status, requestId: problem['request_id'], failure: { code } }));
    expect(problem).toMatchObject({ status, code, type: `/errors/${code}` });
    expect(top).toContain(`x-request-id: ${String(problem['request_id'])}`);
  });

  it.each([[[]], [['host: a', 'HOST: a']], [['host: a', 'x: y', 'host: b']]])('a request with the hosts %j is refused', async (hosts) => {
    expect(await raw((socket) => socket.write(head('GET /open HTTP/1.1', ...hosts, 'connection: close')))).toMatch(
      /^HTTP.1.1 400 [^]*"invalid_request"/,
    );
  });

  it('a URL with raw UTF-8 is refused with the advice to percent-encode it', async () => {
    for (const url of ['/things/é', '/open?metrics=ü', '/😀']) {
      const all = await raw((socket) => socket.write(head(`GET ${url} HTTP/1.1`, 'host: h', 'connection: close')));
      expect(all).toMatch(/^HTTP.1.1 400 [^]*"detail":"[^"]*[Pp]ercent-encode/);
    }
  });

  it.each(['http://[', '*', 'http:///things'])('the URL %s is refused', async (url) => {
    const all = await raw((socket) => socket.write(head(`GET ${url} HTTP/1.1`, 'host: h', 'connection: close')));
    expect(all).toMatch(/^HTTP.1.1 40[04] [^]*"code":"(invalid_request|unknown_route)"/);
  });

  it('an expectation of another kind is not met, but answered', async () => {
    expect((await ask('GET', '/open', { expect: 'the-unexpected' })).status).toBe(200);
  });

  it('what is broken behind a whole request does not take its answer', async () => {
    const all = await raw((socket) => socket.write(`${head('GET /open HTTP/1.1', 'host: h')}nonsense\r\n\r\n`));
    expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 200']);
  });

  it('a body that stops after its refusal gets no second answer', async () => {
    const all = await raw((socket) => socket.write(`${head('POST /bytes HTTP/1.1', 'host: h', 'content-length: 10')}{`));
    expect(all.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 401']);
  });

  it.each([
    ['destroy', 400],
    ['resetAndDestroy', 499],
  ] as const)('a client that leaves in the middle of its body by %s frees what it held', async (leave, status) => {
    const socket = connect(port, '127.0.0.1');
    const type = 'content-type: application/json';
    socket.write(`${head('POST /bytes HTTP/1.1', 'host: h', key(), type, 'content-length: 1000', 'x-left: 1')}{`);
    await eventually(() => expect(app.get(InFlight).bodyBytes).toBe(1));
    answered.length = 0;
    socket[leave]();
    await eventually(() => expect(app.get(InFlight).bodyBytes).toBe(0));
    expect(answered).toMatchObject([{ route: '/bytes', status, complete: false }]);
  });

  it('a connection that says nothing is closed without a word', async () => {
    expect(await raw(() => {})).toBe('');
  });
});

describe('pages of other origins', () => {
  it.each([
    ['/bytes', 'POST'],
    ['/things/1', 'DELETE, GET, HEAD'],
    ['/settings/1', 'PATCH, PUT'],
    ['/account', 'GET, HEAD'],
  ])('OPTIONS %s', async (path, methods) => {
    const { status, headers } = await ask('OPTIONS', path, { origin: 'https://x.example', 'access-control-request-method': 'POST' });
    expect([status, headers['access-control-allow-origin'], headers['access-control-allow-methods']]).toEqual([204, '*', methods]);
    expect(headers['access-control-allow-headers']).toBe('Content-Type, Content-Encoding, x-api-key, Last-Event-ID');
  });

  it('may read answers, errors too, but of routes that are not for them', async () => {
    const origin = 'https://x.example';
    const answers = [
      await ask('GET', '/open', { origin: 'null' }),
      await ask('GET', '/nowhere', { origin }),
      await ask('GET', '/things/1', { origin }),
      await ask('POST', '/account', { origin }),
      await ask('PUT', '/account', { origin, 'x-api-key': keys.read }),
      await ask('PUT', '/account', { origin }),
      await ask('GET', '/account/session', { origin }),
      await ask('POST', '/account/session', { origin }),
    ];
    expect(answers.map(({ status, headers }) => [status, headers['access-control-allow-origin']])).toEqual([
      [200, '*'],
      [404, '*'],
      [401, '*'],
      [405, '*'],
      [403, undefined],
      [403, undefined],
      [200, undefined],
      [405, undefined],
    ]);
  });

  it('are told nothing in a preflight of a route that is not for them', async () => {
    const { status, headers } = await ask('OPTIONS', '/account/session', {
      origin: 'https://x.example',
      'access-control-request-method': 'GET',
    });
    expect([status, headers['allow'], Object.keys(headers).filter((name) => name.startsWith('access-control'))]).toEqual([
      204,
      'GET, HEAD',
      [],
    ]);
  });
});

describe('too much at once', () => {
  let open: () => void;
  const shut = (): void => {
    gate = new Promise((resolve) => (open = resolve));
  };
  const settled = async (want: () => boolean): Promise<void> => {
    for (const endMs = performance.now() + 30_000; !want() && performance.now() < endMs;) await new Promise(setImmediate);
    expect(want()).toBe(true);
  };
  const held = (): number => app.get(InFlight).bodyBytes;
  const mib = 1024 * 1024;

  it.each([
    ['announced', {}],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('bodies %s: each organization has half of what the others leave, 429 or 503 beyond', async (_, headers) => {
    shut();
    const first = post(Buffer.alloc(5 * mib, ' '), headers);
    await settled(() => held() === 5 * mib);
    const greedy = await post(Buffer.alloc(2 * mib, ' '), headers);
    expect([greedy.status, greedy.json['code'], greedy.headers['retry-after']]).toEqual([429, 'over_rate', '1']);
    const second = post(Buffer.alloc(3 * mib, ' '), headers, keys.other);
    await settled(() => held() === 8 * mib);
    const last = await post(Buffer.alloc(3 * mib, ' '), headers, keys.third);
    expect([last.status, last.json['code'], last.headers['retry-after']]).toEqual([503, 'overloaded', '1']);
    const small = post(Buffer.alloc(mib, ' '), headers, keys.third);
    await settled(() => held() === 9 * mib);
    open();
    expect((await Promise.all([first, second, small])).map(({ status }) => status)).toEqual([201, 201, 201]);
    await settled(() => held() === 0);
  });

  it('reads: 3 at once, 429 beyond, whoever leaves early', async () => {
    shut();
    const read = (key: string): Promise<Answer> => ask('GET', '/things/1', { 'x-api-key': key });
    const open3 = [read(keys.read), read(keys.read), read(keys.write)];
    const share = () => Array.from(app.get(InFlight).shares.values(), ({ reads }) => reads);
    await settled(() => share()[0] === 3);
    const fourth = await read(keys.read);
    expect([fourth.status, fourth.json['code']]).toEqual([429, 'over_rate']);
    const foreign = read(keys.other);
    open();
    expect((await Promise.all([...open3, foreign])).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    await settled(() => share().length === 0);
  });
});

describe('a client that does not read', () => {
  const ask64MiB = (): string => head('GET /long HTTP/1.1', 'host: h', `x-api-key: ${keys.read}`);
  const isFree = (): Promise<void> => eventually(() => expect(app.get(InFlight).shares.size).toBe(0), 5000);

  it('is cut off, and frees what it held', async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.pause().write(ask64MiB());
    await eventually(() => expect(app.get(InFlight).answerBytes).toBeGreaterThan(0));
    await isFree();
    expect(app.get(InFlight).answerBytes).toBe(0);
    socket.destroy();
  });

  it('is cut off with all that it asked for behind that', async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    const light = head('GET /things/1 HTTP/1.1', 'host: h', `x-api-key: ${keys.read}`);
    socket.pause().write(ask64MiB() + light + light);
    await eventually(() => expect(app.get(InFlight).shares.size).toBe(1));
    await isFree();
    socket.destroy();
  });

  it('has others wait for nothing, and no more than half of the memory for answers', async () => {
    const stalled = connect(port, '127.0.0.1').on('error', () => {});
    stalled.pause().write(ask64MiB());
    await eventually(() => expect(app.get(InFlight).answerBytes).toBeGreaterThan(0));
    const second = await ask('GET', '/long', { 'x-api-key': keys.read });
    expect([second.status, second.json['code']]).toEqual([429, 'over_rate']);
    expect((await ask('GET', '/things/1', { 'x-api-key': keys.other })).status).toBe(200);
    stalled.destroy();
    await isFree();
  });

  it('is not cut off as long as it reads something now and then', async () => {
    const socket = connect(port, '127.0.0.1').on('error', () => {});
    socket.write(ask64MiB().replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n'));
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > 4 * 1024 * 1024) return;
      socket.pause();
      setTimeout(() => socket.resume(), 20);
    });
    await once(socket, 'close');
    expect(bytes).toBeGreaterThan(64 * 1024 * 1024);
  });
});

it('what is announced and not sent takes no memory of others', async () => {
  const lines = head(
    'POST /bytes HTTP/1.1',
    'host: h',
    `x-api-key: ${keys.write}`,
    'content-type: application/json',
    `content-length: ${maxBodyBytes}`,
  );
  const silent = Array.from({ length: 7 }, () => connect(port, '127.0.0.1').on('error', () => {}));
  for (const socket of silent) socket.write(lines);
  await eventually(() => expect(Array.from(app.get(InFlight).shares.values(), ({ holders }) => holders)).toEqual([7]));
  expect((await post(Buffer.alloc(maxBodyBytes, ' '))).status).toBe(201);
  for (const socket of silent) socket.destroy();
});

it('tells nobody what broke, but the observer', async () => {
  const { status, json } = await ask('GET', '/broken', { 'x-api-key': keys.read });
  expect([status, json['code']]).toEqual([500, 'internal']);
  expect(JSON.stringify(json)).not.toContain('hunter2');
  const seen = answered.find(({ requestId }) => requestId === json['request_id']);
  expect(seen?.address).toBe('127.0.0.1');
  expect(seen).toMatchObject({ method: 'GET', route: '/broken', status: 500, complete: true });
  expect(seen?.failure?.cause).toHaveProperty('message', 'the password is hunter2');
});
