import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type Server } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { rawRequest, sendThenRead, startEmbedded } from '#testing';
import { freePorts } from '../../infra/servers/index.js';
import { startRouter, type Router } from './router.js';
import type { Running } from './start.js';

const dataDir = mkdtempSync(join(tmpdir(), 'headwater-router-'));

/** All roles are one server, but for control, of which there is none. */
describe('a router before the roles', () => {
  let server: Running;
  let router: Router;
  beforeAll(async () => {
    server = await startEmbedded({ dataDir, trustedProxies: ['127.0.0.1'] });
    // One of two for ingress is not there.
    const targets = { ingress: [await nobody(), server.url], query: [server.url], control: [await nobody(), await nobody()] };
    router = await startRouter({ targets, host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await router.close();
    await server.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  const post = (body: string): Promise<Response> =>
    fetch(`${router.url}/ingest`, {
      method: 'POST',
      headers: { 'x-api-key': server.firstKey!, 'content-type': 'application/json' },
      body,
    });

  it('passes what is sent and what is answered', async () => {
    const answer = await post('{"source_id":"a","points":[{"metric":"m","value":1}]}');
    expect([answer.status, await answer.json()]).toEqual([200, { success: true, count: 1, source_id: 'a' }]);
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/);
    const names = await fetch(`${router.url}/v1/sources/a/metrics?x=%2C`, { headers: { 'x-api-key': server.firstKey! } });
    expect(await names.json()).toEqual(['m']);
  });

  it('lets a client see why its body was refused before its end, and keeps the connection', async () => {
    for (let time = 0; time < 2; time++) expect((await post('x'.repeat(6_000_000))).status).toBe(413);
  });

  it('lets a client see it that sends all of its body before it reads, on a connection that ends then', async () => {
    const lines = ['host: h', `x-api-key: ${server.firstKey}`, 'content-type: application/json', 'connection: close'];
    for (const path of ['/ingest', '/openapi.json']) {
      const head = rawRequest(`POST ${path} HTTP/1.1`, [...lines, 'content-length: 6000000']);
      for (let time = 0; time < 3; time++) {
        const { status, headers } = await sendThenRead(router.url, [head, Buffer.alloc(6_000_000, ' ')]);
        expect([status, headers['connection']]).toEqual([path === '/ingest' ? 413 : 503, 'close']);
      }
    }
  });

  it('uses the replicas of a role in turn, whatever is asked of others between', async () => {
    const replicas = await Promise.all(['a', 'b'].map((name) => listening(createServer((_, response) => response.end(name)))));
    const urls = replicas.map(({ url }) => url);
    const before = await startRouter({ targets: { ingress: urls, query: urls, control: urls }, host: '127.0.0.1', port: 0 });
    const asked = ['/v1/x', '/', '/v1/x', '/', '/v1/x', '/ingest', '/ingest'];
    const answers: string[] = [];
    for (const path of asked) answers.push(await (await fetch(before.url + path)).text());
    expect(answers.join('')).toBe('aabbaab');
    await before.close();
    for (const { server: replica } of replicas) replica.close();
  });

  it('answers 503 with Retry-After for a role that is not running', async () => {
    const answer = await fetch(`${router.url}/openapi.json`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ code: 'not_ready', request_id: answer.headers.get('x-request-id') });
  });

  it('tells the role whose address it is, which no client can make up', async () => {
    const tries = async (localAddress: string, forwarded?: string): Promise<number | undefined> => {
      const headers = { 'x-api-key': `hw_${Math.random()}`, ...(forwarded && { 'x-forwarded-for': forwarded }) };
      const [answer] = await once(request(`${router.url}/v1/sources`, { localAddress, headers }).end(), 'response');
      await text(answer);
      return answer.statusCode;
    };
    for (let key = 0; key < 20; key++) expect(await tries('127.0.0.2', `10.0.0.${key}`)).toBe(401);
    expect(await tries('127.0.0.2', '10.0.1.1')).toBe(429);
    expect(await tries('127.0.0.3')).toBe(401);
    expect(await tries('127.0.0.1', '127.0.0.2')).toBe(401);
  });

  it('joins the connections of an upgrade', async () => {
    const far = createServer().on('upgrade', (_, socket) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
      socket.pipe(socket);
    });
    const { url } = await listening(far);
    const between = await startRouter({ targets: { ingress: [url], query: [url], control: [url] }, host: '127.0.0.1', port: 0 });
    const socket = connect(Number(new URL(between.url).port), '127.0.0.1');
    socket.write('GET /v1/x HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    socket.once('data', () => socket.end('hello'));
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 101 .*\r\n\r\nhello$/s);
    await between.close();
    far.close();
  });
});

async function listening(server: Server): Promise<{ readonly server: Server; readonly url: string }> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function nobody(): Promise<string> {
  const [port] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}
