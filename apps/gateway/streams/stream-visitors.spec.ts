import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Accounts, CLOCK, createHttpApp, Keyring, Organizations, Readiness, Sessions, VisitorsModule } from '#edge';
import { entry, RECORD_LOG, tombstone, VIEWS } from '#log';
import { membershipKey, type Account } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { EventStream, makeAccount, makeKeysIn, makeMember, SocketStream, until, type StreamClient } from '#testing';
import { accounts, events, memberships } from '#topics';
import { LogStreamGateway, MetricStreamGateway } from './stream-gateways.js';
import { StreamsController } from './streams.controller.js';
import { STREAM_LIMITS, streamLimits, Streams } from './streams.js';

const ways = ['WebSocket', 'text/event-stream'] as const;
type How = (typeof ways)[number];

const day = 86_400_000;
let dir: string;
let storage: Storage;
let app: NestFastifyApplication;
let base: string;
let orgId: string;
let otherOrgId: string;
let aheadMs = 0;
let account: Account;
let cookie: string;
let made = 0;
const open: StreamClient[] = [];

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-visitors-'));
  storage = await openStorage(dir);
  const keys = await makeKeysIn(storage.log);
  const ports = [
    { provide: RECORD_LOG, useValue: storage.log },
    { provide: VIEWS, useValue: storage.views },
    { provide: CLOCK, useValue: () => Date.now() + aheadMs },
  ];
  app = await createHttpApp(
    {
      module: class Role {},
      imports: [{ module: class Ports {}, global: true, providers: ports, exports: ports }, VisitorsModule],
      controllers: [StreamsController],
      providers: [{ provide: STREAM_LIMITS, useValue: { ...streamLimits, ofPerson: 2 } }, Streams, MetricStreamGateway, LogStreamGateway],
    },
    { publicUrl: 'http://telemetry.example.com' },
  );
  await Promise.all([app.get(Keyring).ready, app.get(Organizations).ready, app.get(Readiness).opened()]);
  [orgId, otherOrgId] = [keys.own, keys.other].map((key) => app.get(Keyring).verify(key)!.orgId) as [string, string];
  await app.listen(0, '127.0.0.1');
  base = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});

beforeEach(async () => {
  account = await makeAccount(storage.log, `p${++made}@example.com`, 'correct horse battery');
  await makeMember(storage.log, orgId, account, 'viewer');
  const its = app.get(Accounts);
  await until('the account is known', () => its.membershipsOf(account.accountId).length === 1);
  cookie = `headwater_session=${await app.get(Sessions).begin(account, { address: '' })}`;
});

afterEach(() => {
  for (const client of open.splice(0)) client.cut();
  aheadMs = 0;
});

afterAll(async () => {
  await app.close();
  await storage.close();
  await rm(dir, { recursive: true });
});

async function read(
  how: How,
  query = 'cursor=1',
  more: { readonly origin?: string; readonly cookie?: string } = {},
): Promise<StreamClient> {
  const path = `/v1/sources/press-7/logs/stream?${query}`;
  const reader = how === 'WebSocket' ? SocketStream : EventStream;
  const client = await reader.open(base, path, { cookie, ...more });
  open.push(client);
  return client;
}

/** What a reader is told who is not let in. */
async function refusal(client: StreamClient): Promise<number> {
  return client instanceof EventStream ? client.answer.statusCode! : client.closedWith();
}

const begun = (client: StreamClient): Promise<void> => client.has('a cursor', () => client.cursor !== undefined);
const append = (of: string, value: number): Promise<unknown> =>
  storage.log.append([
    entry(events, {
      orgId: of,
      sourceId: 'press-7',
      receivedMs: 1,
      origin: 'source',
      events: [{ metric: 'e', timestampMs: value, value: String(value), isJson: true, tags: '', place: 0, ordinal: 0 }],
    }),
  ]);

describe('whoever has signed in', () => {
  it.each(ways)('reads the streams of the organization, and goes on behind a cursor: %s', async (how) => {
    const first = await read(how);
    await begun(first);
    await append(otherOrgId, 1);
    await append(orgId, 2);
    await first.has('an event', () => first.messages.length > 0);
    first.cut();
    await append(orgId, 3);
    const next = await read(how, `after=${first.cursor}`);
    await next.has('what it missed', () => next.messages.length > 0);
    expect([...first.messages, ...next.messages].map(({ value }) => value)).toEqual([2, 3]);
  });

  it.each(ways)('names an organization of theirs, where there are several: %s', async (how) => {
    const others = `cursor=1&organization_id=${otherOrgId}`;
    const notLetIn = how === 'WebSocket' ? 4401 : 403;
    expect(await refusal(await read(how, others))).toBe(notLetIn);
    await makeMember(storage.log, otherOrgId, account, 'viewer');
    await until('that is known', () => app.get(Accounts).membershipsOf(account.accountId).length === 2);
    expect(await refusal(await read(how))).toBe(notLetIn);
    const client = await read(how, others);
    await begun(client);
    await append(orgId, 4);
    await append(otherOrgId, 5);
    await client.has('an event', () => client.messages.length > 0);
    expect(client.messages.map(({ value }) => value)).toEqual([5]);
  });

  it.each(ways)('may have so many streams and no more: %s', async (how) => {
    for (const client of [await read(how), await read(how)]) await begun(client);
    expect(await refusal(await read(how))).toBe(how === 'WebSocket' ? 1013 : 429);
  });

  const endings: Readonly<Record<string, () => unknown>> = {
    'has signed out': async () => {
      const sessions = app.get(Sessions);
      await sessions.end(account.accountId, sessions.list(account.accountId)[0]!.sessionId);
    },
    'has not come for a month': () => (aheadMs = 31 * day),
    'has left the organization': () => storage.log.append([tombstone(memberships, membershipKey({ orgId, accountId: account.accountId }))]),
    'has another password': () => storage.log.append([entry(accounts, { ...account, passwordDigest: 'another' })]),
  };
  it.each(Object.entries(endings))('and %s is told so, and let in no more', async (_, end) => {
    const clients = await Promise.all(ways.map((how) => read(how)));
    await Promise.all(clients.map(begun));
    await end();
    for (const client of clients) {
      expect([await client.closedWith(), client.closed!.reason]).toEqual([4401, expect.stringContaining('You have signed out')]);
    }
    for (const how of ways) expect([401, 403, 4401]).toContain(await refusal(await read(how)));
  });
});

it('A page of another origin reads no WebSocket with the session of its visitor', async () => {
  expect(await refusal(await read('WebSocket', 'cursor=1', { origin: 'http://evil.example.com' }))).toBe(4401);
  await begun(await read('WebSocket', 'cursor=1', { origin: 'http://telemetry.example.com' }));
});

it('A page of another origin reads no events with the session of its visitor: browsers keep the answer from it', async () => {
  const { answer } = (await read('text/event-stream', '', { origin: 'http://evil.example.com' })) as EventStream;
  expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
});

it.each(ways)('A token that nobody has lets nobody in: %s', async (how) => {
  expect(await refusal(await read(how, '', { cookie: `headwater_session=${'a'.repeat(43)}` }))).toBe(how === 'WebSocket' ? 4401 : 401);
});
