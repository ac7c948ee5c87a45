import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { eventually, send, startEmbedded } from '#testing';
import type { HeadwaterError } from '../error.js';
import { httpWay } from './http-way.js';
import { memoryBuffer } from './memory-buffer.js';
import { between } from './parcel.js';
import { type Sender, startSender } from './sender.js';

type Said = readonly [status: number, headers?: Record<string, string>, body?: string];
/** Answers some requests itself; undefined leaves one to the server. */
type Script = (points: readonly Record<string, unknown>[], request: IncomingMessage) => Said | undefined;

let dataDir: string;
let server: Running;
let front: HttpServer;
let script: Script = () => undefined;
let requests: number;
let told: { refused: [unknown[], string][]; failed: string[]; stored: number };
const senders: Sender[] = [];
let made = 0;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir });
  await server.opened;
  front = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const sent = Buffer.concat(chunks);
      requests++;
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(sent) : sent;
      const { points } = JSON.parse(body.toString()) as { points: Record<string, unknown>[] };
      const [status, headers, text] = script(points, request) ?? (await passOn(body));
      response.writeHead(status, headers).end(text);
    })();
  }).listen(0, '127.0.0.1');
  await once(front, 'listening');
});

beforeEach(() => {
  script = () => undefined;
  requests = 0;
  told = { refused: [], failed: [], stored: 0 };
});

afterEach(() => {
  for (const sender of senders.splice(0)) sender.close();
});

afterAll(async () => {
  front.close();
  await server.stop();
  await rm(dataDir, { recursive: true });
});

async function passOn(body: Buffer): Promise<Said> {
  const headers = { 'x-api-key': server.firstKey!, 'content-type': 'application/json' };
  const answer = await fetch(`${server.url}/ingest`, { method: 'POST', headers, body: new Uint8Array(body) });
  return [answer.status, { 'content-type': 'application/json' }, await answer.text()];
}

interface Going {
  readonly sourceId: string;
  readonly sender: Sender;
  readonly add: (...points: readonly (string | object)[]) => void;
}

function start(): Going {
  const sourceId = `source-${made++}`;
  const { port } = front.address() as AddressInfo;
  const buffer = memoryBuffer({ maxBytes: 16e6, full: 'reject' }, { dropped: () => undefined });
  const http = httpWay(() => Promise.resolve({ url: `http://127.0.0.1:${port}`, apiKey: server.firstKey! }), sourceId);
  const pace = { firstMs: 5, maxMs: 20, slowMs: 10 };
  const sender = startSender(buffer, http, { everyMs: 0, points: 5000, bytes: 1e6 }, pace, {
    stored: (points) => (told.stored += points),
    refused: (texts, error) => told.refused.push([texts.map((text) => JSON.parse(text) as unknown), error.code]),
    failed: (error) => told.failed.push((error as HeadwaterError).code),
  });
  senders.push(sender);
  return {
    sourceId,
    sender,
    add(...points) {
      const texts = points.map((point) => (typeof point === 'string' ? point : JSON.stringify(point)));
      const text = texts.join(between);
      buffer.add({ text, points: texts.length, bytes: text.length });
      sender.wake();
    },
  };
}

const nowMs = Date.now();
const metric = (at: number, more: object = {}): object => ({ metric: 'm', value: at, timestamp: nowMs + at, ...more });
const event = (value: unknown, more: object = {}): object => ({ class: 'event', metric: 'e', timestamp: nowMs, value, ...more });
const many = (count: number): object[] => Array.from({ length: count }, (_, at) => metric(at));

async function eventsOf(sourceId: string): Promise<string[]> {
  const headers = { 'x-api-key': server.firstKey! };
  const { text } = await send(server.url, { path: `/v1/sources/${sourceId}/logs?last=1h&limit=10000`, headers });
  return (JSON.parse(text) as { value: string }[]).map(({ value }) => value);
}

describe('points that the server refuses', () => {
  const bad = Array.from({ length: 30 }, (_, at) => ({ metric: 'm', value: `${at}` }));

  it.each([
    ['one in many', [...many(500), { metric: '', value: 1 }, ...many(3)], [{ metric: '', value: 1 }]],
    ['nothing but bad ones', bad, bad],
    ['one alone', [{ metric: 'm', value: true }], [{ metric: 'm', value: true }]],
  ] as const)('%s: the rest is stored', async (_, points, expected) => {
    const { sender, add } = start();
    add(...points);
    add(metric(9000));
    await sender.flush();
    const refused = told.refused.flatMap(([texts]) => texts);
    expect(refused).toEqual(expected);
    expect(new Set(told.refused.map(([, code]) => code))).toEqual(new Set(['invalid_points']));
    expect(told.stored).toBe(points.length + 1 - refused.length);
    expect(told.failed).toEqual([]);
  });

  it('are found by cutting where the answer does not name them, and equal events stay together', async () => {
    const { sourceId, sender, add } = start();
    const problem = { 'content-type': 'application/problem+json' };
    script = (points) =>
      points.some(({ value }) => value === 'bad') ? [400, problem, '{"code":"invalid_body","detail":"No."}'] : undefined;
    const points = Array.from({ length: 100 }, (_, at) => event(['a', 'b', 'bad', 'c'][at % 4]));
    add(...points);
    await sender.flush();
    expect(told.refused).toEqual([[Array.from({ length: 25 }, () => event('bad')), 'invalid_body']]);
    expect(told.stored).toBe(75);
    await eventually(async () => expect(await eventsOf(sourceId)).toHaveLength(75));
    // Sent again as a whole, they are the same.
    script = () => undefined;
    add(...points);
    add(metric(1));
    await sender.flush();
    await eventually(async () => expect(await eventsOf(sourceId)).toHaveLength(100));
  });
});

describe('an answer that says to try again', () => {
  const html = { 'content-type': 'text/html' };
  it.each<readonly [string, number, Record<string, string>, string, string]>([
    ['over its rate', 429, {}, '{"code":"over_rate"}', 'over_rate'],
    ['without its log', 503, { 'retry-after': '0' }, '{"code":"log_unavailable"}', 'log_unavailable'],
    ['behind a proxy that has lost it', 502, html, '<h1>Bad Gateway</h1>', 'not_headwater'],
    ['behind a proxy that waits no longer', 504, html, '', 'not_headwater'],
    ['that does not know the key', 401, {}, '{"code":"invalid_key"}', 'invalid_key'],
    ['that is not paid for', 402, {}, '{"code":"payment_required"}', 'payment_required'],
    ['with a key that may not write', 403, {}, '{"code":"missing_scope"}', 'missing_scope'],
    ['that is another one', 404, html, 'Not Found', 'not_headwater'],
    ['that has moved', 302, { location: 'https://example.com/' }, '', 'not_headwater'],
    ['behind a page to sign in', 200, html, '<h1>Welcome to our wireless network</h1>', 'not_headwater'],
    ['behind something that refuses everything', 400, html, '<h1>Bad Request</h1>', 'not_headwater'],
    ['with a mistake', 500, {}, '{"code":"internal"}', 'internal'],
  ])('a server %s: nothing is lost', async (_, status, headers, body, code) => {
    let left = 4;
    script = () => (left-- > 0 ? [status, headers, body] : undefined);
    const { sender, add } = start();
    add(...many(10));
    await sender.flush();
    expect(told).toEqual({ refused: [], failed: [code, code, code, code], stored: 10 });
    expect(requests).toBe(5);
  });

  it('waits for as long as the server asks', async () => {
    let left = 1;
    script = () => (left-- > 0 ? [503, { 'retry-after': '1' }, '{"code":"overloaded"}'] : undefined);
    const { sender, add } = start();
    const beganMs = performance.now();
    add(metric(1));
    await sender.flush();
    expect(performance.now() - beganMs).toBeGreaterThan(990);
  });

  it('sends plain bodies where compressed ones are not taken', async () => {
    script = (_, { headers }) => (headers['content-encoding'] ? [415, {}, '{"code":"unsupported_content_encoding"}'] : undefined);
    const { sender, add } = start();
    add(...many(100));
    await sender.flush();
    expect(told).toEqual({ refused: [], failed: [], stored: 100 });
    expect(requests).toBe(2);
  });

  it('sends smaller bodies where large ones are not taken', async () => {
    script = (points) => (points.length > 30 ? [413, { 'content-type': 'text/html' }, 'Too Large'] : undefined);
    const { sender, add } = start();
    for (let at = 0; at < 100; at++) add(...many(10));
    await sender.flush();
    expect(told).toEqual({ refused: [], failed: [], stored: 1000 });
    const before = requests;
    for (let at = 0; at < 10; at++) add(...many(10));
    await sender.flush();
    expect(requests - before).toBeLessThanOrEqual(10);
  });
});

describe('series that are too many', () => {
  it('do not hold up those that are known, and are stored once there is room', async () => {
    let room = 3;
    const known = new Set<unknown>();
    script = (points) => {
      const fresh = new Set(points.map((point) => point['metric']).filter((name) => !known.has(name)));
      if (known.size + fresh.size > room) return [429, { 'retry-after': '0' }, '{"code":"too_many_series","detail":"No."}'];
      for (const name of fresh) known.add(name);
      return undefined;
    };
    const { sender, add } = start();
    for (let at = 0; at < 30; at++) add(metric(at, { metric: `m${at % 6}` }));
    await eventually(() => expect(told.stored).toBe(15));
    for (let at = 30; at < 60; at++) add(metric(at, { metric: `m${at % 3}` }));
    await eventually(() => expect(told.stored).toBe(45));
    room = 6;
    await sender.flush();
    expect({ ...told, failed: [...new Set(told.failed)] }).toEqual({ refused: [], failed: ['too_many_series'], stored: 60 });
  });

  it('are given up where more than a hundred wait', async () => {
    script = () => [429, { 'retry-after': '3600' }, '{"code":"too_many_series","detail":"No."}'];
    const { add } = start();
    add(...Array.from({ length: 150 }, (_, at) => metric(at, { metric: `m${at}` })));
    await eventually(() =>
      expect(told.refused.map(([points, code]) => [points.length, code])).toEqual(Array.from({ length: 50 }, () => [1, 'too_many_series'])),
    );
    expect(told.stored).toBe(0);
  });
});
