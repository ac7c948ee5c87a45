import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLOCK, createHttpApp, deciders, KeyUses, newKey, Outbound } from '#edge';
import { entry, readLog, RECORD_LOG, Runner, VIEWS } from '#log';
import { errorCases, maxKeys } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { makeKey, makeOrganization, noOutbound, NoStoresModule } from '#testing';
import { apiKeys, keyCommands, keyUses } from '#topics';
import { ControlModule } from './control.module.js';

let folder: string;
let storage: Storage;
let running: readonly Runner[];
const keys = { admin: '', writer: '', other: '', unpaid: '' };
let orgId = '';
let app: NestFastifyApplication;
let url: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headwater-control-'));
  storage = await openStorage(folder);
  const clock = (): number => 1_700_000_000_000;
  const values: [symbol | typeof Outbound, unknown][] = [
    [RECORD_LOG, storage.log],
    [VIEWS, storage.views],
    [CLOCK, clock],
    [Outbound, noOutbound],
  ];
  const providers = values.map(([provide, useValue]) => ({ provide, useValue }));
  const ports = { module: class Ports {}, global: true, providers, exports: providers };
  app = await createHttpApp({ module: class Role {}, imports: [ports, NoStoresModule, ControlModule] });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  orgId = await makeOrganization(storage.log, true);
  keys.admin = (await makeKey(storage.log, orgId)).secret;
  keys.writer = (await makeKey(storage.log, orgId, ['write'])).secret;
  keys.other = (await makeKey(storage.log, await makeOrganization(storage.log, true), ['admin'])).secret;
  keys.unpaid = (await makeKey(storage.log, await makeOrganization(storage.log, false), ['admin'])).secret;
  running = deciders(storage.log, storage.views, clock).map(
    (decider) => new Runner(storage.log, decider, { checkpointMs: 1e6, report: () => {} }),
  );
  await Promise.all(running.map((runner) => runner.start()));
});

afterAll(async () => {
  await app.close();
  await Promise.all(running.map((runner) => runner.stop()));
  await storage.close();
  await rm(folder, { recursive: true });
});

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function call(method: string, path: string, key?: string, body?: string): Promise<Got> {
  const headers = { ...(key && { 'x-api-key': key }), ...(body !== undefined && { 'content-type': 'application/json' }) };
  const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body }) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

interface Made {
  readonly id: string;
  readonly api_key: string;
}

const made = async (body: object): Promise<Made> =>
  JSON.parse((await call('POST', '/api/api-keys', keys.admin, JSON.stringify(body))).text) as Made;

describe('keys', () => {
  it('a key is made, works at once, is listed without its secret, and is deleted', async () => {
    const answer = await call('POST', '/api/api-keys', keys.admin, '{"name":" pump-7 ","scopes":["write","read","write"]}');
    const created = JSON.parse(answer.text) as Made;
    expect([answer.status, answer.headers.get('cache-control')]).toEqual([201, 'no-store']);
    expect(created).toEqual({
      id: expect.stringMatching(/^key_/),
      name: 'pump-7',
      prefix: created.api_key.slice(0, 8),
      suffix: created.api_key.slice(-4),
      scopes: ['write', 'read'],
      sources: ['*'],
      created_ms: 1_700_000_000_000,
      created_by: expect.stringMatching(/^key_/),
      last_used_ms: null,
      last_used_from: null,
      api_key: expect.stringMatching(/^hw_[0-9A-Za-z]{38}$/),
    });
    const verified = await call('GET', '/api/auth/verify-key', created.api_key);
    expect(JSON.parse(verified.text)).toEqual({ org_id: orgId, scopes: ['write', 'read'] });

    const { text } = await call('GET', '/api/api-keys', keys.admin);
    const { api_key: secret, ...listed } = created;
    expect(JSON.parse(text)).toContainEqual(listed);
    const written: unknown[] = [];
    await readLog(storage.log, { topics: [apiKeys, keyCommands], from: 'beginning', take: (records) => void written.push(...records) });
    expect(text + JSON.stringify(written)).not.toContain(secret);

    const gone = await call('DELETE', `/api/api-keys/${created.id}`, keys.admin);
    expect([gone.status, gone.text]).toEqual([204, '']);
    expect((await call('GET', '/api/auth/verify-key', secret)).status).toBe(401);
    expect((await call('DELETE', `/api/api-keys/${created.id}`, keys.admin)).status).toBe(404);
  });

  it('its last use is listed, to the minute, with the address', async () => {
    const { id, api_key: secret } = await made({ name: 'used' });
    expect((await call('GET', '/api/auth/verify-key', secret)).status).toBe(200);
    await app.get(KeyUses).write();
    await storage.views.open(keyUses).caughtUp();
    const listed = JSON.parse((await call('GET', '/api/api-keys', keys.admin)).text) as Made[];
    expect(listed.find((key) => key.id === id)).toMatchObject({ last_used_ms: 1_700_000_000_000, last_used_from: '127.0.0.1' });
  });

  it('without scopes it may write', async () => {
    expect(await made({ name: 'plain' })).toMatchObject({ scopes: ['write'] });
  });

  it('of 10,000 keys of an organization the list has all, and there is no other until one is deleted', async () => {
    const many = await makeOrganization(storage.log, true);
    const { key: own, secret } = await makeKey(storage.log, many, ['admin']);
    const others = Array.from({ length: maxKeys - 1 }, () => newKey(many, { name: 'k', scopes: ['write'], createdBy: '' }, 1).key);
    await storage.log.append(others.map((key) => entry(apiKeys, key)));
    await storage.views.open(apiKeys).until(others.at(-1)!.keyId, (key) => key !== undefined, 60_000);
    const make = async (): Promise<unknown> => {
      const { status, text } = await call('POST', '/api/api-keys', secret, '{"name":"one more"}');
      return [status, (JSON.parse(text) as { code?: string }).code];
    };
    expect(await make()).toEqual([400, 'too_many_keys']);
    const listed = JSON.parse((await call('GET', '/api/api-keys', secret)).text) as Made[];
    expect([listed.length, listed.some(({ id }) => id === own.keyId)]).toEqual([maxKeys, true]);
    expect((await call('DELETE', `/api/api-keys/${others[0]!.keyId}`, secret)).status).toBe(204);
    expect(await make()).toEqual([201, undefined]);
  });

  it('another organization sees and deletes none of them', async () => {
    const { id } = await made({ name: 'mine' });
    const bare = (text: string): string => text.replace(/"request_id":"\w+"/, '');
    const foreign = await call('DELETE', `/api/api-keys/${id}`, keys.other);
    const unknown = await call('DELETE', '/api/api-keys/key_nobody', keys.other);
    expect([foreign.status, bare(foreign.text)]).toEqual([404, bare(unknown.text)]);
    expect((await call('GET', '/api/api-keys', keys.other)).text).not.toContain(id);
    expect((await call('GET', '/api/api-keys', keys.admin)).text).toContain(id);
  });

  it.each([
    ['{"name":""}', '/name'],
    ['{"name":"  "}', '/name'],
    ['{}', '/name'],
    [`{"name":"${'x'.repeat(101)}"}`, '/name'],
    [String.raw`{"name":"a\u0000b"}`, '/name'],
    [String.raw`{"name":"a\nb"}`, '/name'],
    ['{"name":1}', '/name'],
    ['{"name":"x","scopes":[]}', '/scopes'],
    ['{"name":"x","scopes":["root"]}', '/scopes/0'],
    ['{"name":"x","scopes":"write"}', '/scopes'],
    ['{"name":"x","scopes":null}', '/scopes'],
    ['[]', ''],
    ['null', ''],
  ])('refuses %j', async (body, pointer) => {
    const { status, text } = await call('POST', '/api/api-keys', keys.admin, body);
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ code: 'invalid_body' })]);
    expect(JSON.parse(text)).toMatchObject({ errors: [expect.objectContaining({ pointer })] });
  });

  it.each([
    ['GET', '/api/api-keys'],
    ['POST', '/api/api-keys'],
    ['DELETE', '/api/api-keys/key_x'],
  ])('%s %s needs the scope admin, and no payment method', async (method, path) => {
    expect((await call(method, path)).status).toBe(401);
    expect((await call(method, path, keys.writer)).status).toBe(403);
    expect((await call(method, path, keys.unpaid)).status).not.toBe(402);
  });
});

it('verify-key answers any valid key', async () => {
  expect(JSON.parse((await call('GET', '/api/auth/verify-key', keys.writer)).text)).toEqual({ org_id: orgId, scopes: ['write'] });
  expect((await call('GET', '/api/auth/verify-key', keys.unpaid)).status).toBe(200);
  expect((await call('GET', '/api/auth/verify-key')).status).toBe(401);
});

describe('what there is to read', () => {
  it.each(Object.keys(errorCases))('/errors/%s', async (code) => {
    const { status, text, headers } = await call('GET', `/errors/${code}`);
    expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    expect(text).toContain(code);
    expect(text).toMatch(/^HTTP [45]\d\d [A-Z]/m);
    expect(text).toContain(errorCases[code as keyof typeof errorCases].remedy);
  });

  it.each(['nothing', 'toString', '__proto__', 'invalid_json%2f'])('/errors/%s is no page', async (code) => {
    expect((await call('GET', `/errors/${code}`)).status).toBe(404);
  });

  it('/openapi.json is there without a key', async () => {
    const { status, text, headers } = await call('GET', '/openapi.json');
    expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    expect(JSON.parse(text)).toMatchObject({ openapi: '3.1.1' });
  });
});
