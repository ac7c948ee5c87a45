import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp, Organizations } from '#edge';
import { tombstone } from '#log';
import { makeKey, MemoryLog, MemoryModule } from '#testing';
import { apiKeys, points } from '#topics';
import { IngressModule } from './ingress.module.js';

const log = new MemoryLog();
let app: NestFastifyApplication;
let url: string;
const keys = { write: '', read: '', unpaid: '', deleted: '', slow: '', few: '' };

beforeAll(async () => {
  app = await createHttpApp({ module: class Role {}, imports: [MemoryModule.of(log), IngressModule] });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  const organizations = app.get(Organizations);
  const paid = await organizations.create('Paid', true);
  const unpaid = await organizations.create('Unpaid', false);
  keys.write = (await makeKey(log, paid.orgId, ['write'])).secret;
  keys.read = (await makeKey(log, paid.orgId, ['read'])).secret;
  keys.unpaid = (await makeKey(log, unpaid.orgId, ['read'])).secret;
  const { key, secret } = await makeKey(log, paid.orgId, ['write']);
  keys.deleted = secret;
  await log.append([tombstone(apiKeys, key.keyId)]);
  const slow = await organizations.create('Slow', true, { limits: { bytes_per_s: 1 } });
  keys.slow = (await makeKey(log, slow.orgId, ['write'])).secret;
  const few = await organizations.create('Few', true, { limits: { series: 2 } });
  keys.few = (await makeKey(log, few.orgId, ['write'])).secret;
});

afterAll(() => app.close());

describe('the order of checks', () => {
  const text = 'text/plain';
  const json = 'application/json';
  const big = 'x'.repeat(5 * 1024 * 1024 + 1);
  const series = (count: number, value: unknown): string =>
    JSON.stringify({ source_id: 's', points: Array.from({ length: count }, (_, at) => ({ metric: `m${at}`, value })) });
  beforeAll(() => {
    const headers = { 'content-type': json, 'x-api-key': keys.slow };
    return fetch(`${url}/ingest`, { method: 'POST', headers, body: `{"points":[]${' '.repeat(1000)}}` });
  });
  it.each([
    ['no key, wrong type, too large', undefined, text, big, 401, 'invalid_key'],
    ['deleted key', 'deleted', text, big, 401, 'invalid_key'],
    ['no payment, no scope', 'unpaid', text, big, 402, 'payment_required'],
    ['no scope', 'read', text, big, 403, 'missing_scope'],
    ['over its rate, wrong type, too large', 'slow', text, big, 429, 'over_rate'],
    ['wrong type', 'write', text, big, 415, 'unsupported_content_type'],
    ['too large', 'write', json, big, 413, 'body_too_large'],
    ['not JSON', 'write', json, '{', 400, 'invalid_json'],
    ['no body', 'write', json, '', 400, 'invalid_json'],
    ['bad points, too many series', 'few', json, series(3, 'x'), 400, 'invalid_points'],
    ['too many series', 'few', json, series(3, 1), 429, 'too_many_series'],
  ] as const)('%s: %j', async (_, key, type, body, status, code) => {
    const headers = { 'content-type': type, ...(key && { 'x-api-key': keys[key] }) };
    const answer = await fetch(`${url}/ingest`, { method: 'POST', headers, body });
    const problem = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, problem['code'], problem['status']]).toEqual([status, code, status]);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(problem['request_id']).toBe(answer.headers.get('x-request-id'));
  });
});

it('appends points and answers with a receipt', async () => {
  const body = JSON.stringify({ source_id: 's', points: [{ metric: 'm', value: 1.5, timestamp: 1_700_000_000_000 }] });
  const headers = { 'content-type': 'application/json', 'x-api-key': keys.write };
  const answer = await fetch(`${url}/ingest`, { method: 'POST', headers, body });
  expect([answer.status, await answer.json()]).toEqual([200, { success: true, count: 1, source_id: 's' }]);
  expect(log.values(points)).toMatchObject([{ sourceId: 's', series: [{ metric: 'm' }] }]);
});

it('writes nothing of a body with too many new series, and takes the known ones', async () => {
  const send = async (...metrics: readonly string[]): Promise<number> => {
    const sent = metrics.map((metric) => ({ source_id: 'few', metric, value: 1 }));
    const headers = { 'content-type': 'application/json', 'x-api-key': keys.few };
    return (await fetch(`${url}/ingest`, { method: 'POST', headers, body: JSON.stringify({ points: sent }) })).status;
  };
  expect([await send('a', 'b'), await send('a', 'c'), await send('b', 'a')]).toEqual([200, 429, 200]);
  const stored = log.values(points).filter(({ sourceId }) => sourceId === 'few');
  expect(stored.map(({ series }) => series.map(({ metric }) => metric))).toEqual([
    ['a', 'b'],
    ['b', 'a'],
  ]);
});

it.each([
  ['GET', '/ingest', 405, 'POST'],
  ['GET', '/nowhere', 404, null],
  ['OPTIONS', '/ingest', 204, null],
])('%s %s answers %i', async (method, path, status, allow) => {
  const answer = await fetch(url + path, { method });
  expect([answer.status, answer.headers.get('allow')]).toEqual([status, allow]);
});
