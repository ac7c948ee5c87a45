import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { rawRequest, sendThenRead, startEmbedded } from '#testing';
import { freePorts } from '../../infra/servers/index.js';
import { startRouter, type Router, type RouterOptions } from './router.js';
import type { Role } from './roles.js';
import type { Running } from './start.js';

const dataDir = mkdtempSync(join(tmpdir(), 'headwater-router-'));

/** All roles are one server, but for control, of which there is none. */
describe('a router before the roles', () => {
  let server: Running;
  let router: Router;
  beforeAll(async () => {
    server = await startEmbedded({ dataDir, trustedProxies: ['127.0.0.1'] });
    // One of two for ingress is not there.
    const away = [await nobody(), await nobody()];
    const targets: Partial<Record<Role, readonly string[]>> = {
      ingress: [away[0]!, server.url],
      query: [server.url],
      gateway: [server.url],
      control: away,
    };
    router = await before((role) => targets[role] ?? []);
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
    const turning = await before(() => urls);
    const asked = ['/v1/x', '/', '/v1/x', '/', '/v1/x', '/ingest', '/ingest'];
    const answers: string[] = [];
    for (const path of asked) answers.push(await (await fetch(turning.url + path)).text());
    expect(answers.join('')).toBe('aabbaab');
    await turning.close();
    for (const { server: replica } of replicas) replica.close();
  });

  it('answers 503 with Retry-After for a role that is not running', async () => {
    const answer = await fetch(`${router.url}/openapi.json`);
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await answer.json()).toMatchObject({ code: 'not_ready', request_id: answer.headers.get('x-request-id') });
  });

  it.each([
    ['a command', '/v1/sources/a/commands', 502, 'gateway_unreachable'],
    ['anything else', '/ingest', 503, 'not_ready'],
  ])('says of %s that a role may have read before it went away whether to send it again', async (_, path, status, code) => {
    const dying = await listening(createServer(({ socket }) => socket.destroy()));
    const other = await before(() => [dying.url, dying.url]);
    const answer = await fetch(other.url + path, { method: 'POST', body: '{}' });
    const said = [answer.status, await answer.json()];
    await other.close();
    dying.server.close();
    expect(said).toMatchObject([status, { code }]);
  });

  it('gives a WebSocket that its role does not know what any unknown route gets', async () => {
    const { status, head } = await upgrade(router.url, '/v1/sources/a/nothing/stream');
    expect([status, head]).toEqual([404, expect.stringContaining('"code":"unknown_route"')]);
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
});

describe('a WebSocket', () => {
  it('is joined to its role, which is told the address of the client and gets what was sent after the request', async () => {
    await echoing(async ({ url, requests }) => {
      const { socket, status } = await upgrade(url, '/ws/device', 'early ');
      socket.end('hello');
      expect([status, await text(socket)]).toEqual([101, 'early hello']);
      const { url: path, headers } = requests[0]!;
      expect([path, headers['x-forwarded-for'], headers['sec-websocket-key']]).toEqual(['/ws/device?a=%2F', '127.0.0.1', 'k']);
    });
  });

  it('ends on both sides when either side or the router ends', async () => {
    await echoing(async ({ url, far, router }) => {
      const sockets = [];
      for (let n = 0; n < 3; n++) sockets.push((await upgrade(url, '/ws/device')).socket);
      const [near, its, last] = sockets as [Socket, Socket, Socket];
      const closed = Promise.all(far.slice(0, 2).map((socket) => once(socket, 'close')));
      near.destroy();
      far[1]!.destroy();
      await Promise.all([closed, once(its, 'close')]);
      await Promise.all([router.close(), once(last, 'close'), once(far[2]!, 'close')]);
      expect([...sockets, ...far].every(({ destroyed }) => destroyed)).toBe(true);
    });
  });

  it('that is refused gets the answer of the role, and the connection ends: a second request cannot follow past the router', async () => {
    const asked: string[] = [];
    const refusing = ({ url }: IncomingMessage, response: Parameters<RequestListener>[1]): void => {
      asked.push(url!);
      response.writeHead(404, { 'x-role': 'a', connection: 'keep-alive' }).end('no');
    };
    await listeningTo(createServer(refusing), async ({ url }) => {
      const { socket, status, head } = await upgrade(url, '/ws/device', 'GET /second HTTP/1.1\r\nhost: a\r\n\r\n');
      expect([status, /^x-role: a\r$/m.test(head), /^connection: close\r$/im.test(head)]).toEqual([404, true, true]);
      await once(socket.resume(), 'close');
      expect(asked).toEqual(['/ws/device?a=%2F']);
    });
  });

  it('goes to the next replica where nobody listens or nobody answers, and is 503 with Retry-After where none does', async () => {
    const frozen = createServer().on('upgrade', () => undefined);
    const { url: mute } = await listening(frozen);
    await echoing(async ({ origin }) => {
      const [first, second] = [await nobody(), await nobody()];
      for (const [targets, expected] of [
        [[first, origin], 101],
        [[mute, origin], 101],
        [[mute, first], 503],
        [[first, second], 503],
        [[], 503],
      ] as const) {
        const one = await before(() => targets, { upgradeMs: 1_000 });
        const { socket, status, head } = await upgrade(one.url, '/ws/device');
        expect([status, /^retry-after: 1\r$/im.test(head)]).toEqual([expected, expected === 503]);
        socket.destroy();
        await one.close();
      }
    });
    frozen.close();
    frozen.closeAllConnections();
  });

  it('beyond the bound is 503 until another one ends', async () => {
    await echoing(
      async ({ url, far }) => {
        const { socket } = await upgrade(url, '/ws/device');
        expect((await upgrade(url, '/ws/device')).head).toContain('"code":"overloaded"');
        const closed = once(far[0]!, 'close');
        socket.destroy();
        await closed;
        const { socket: next, status } = await upgrade(url, '/ws/device');
        expect(status).toBe(101);
        next.destroy();
      },
      { maxSockets: 1 },
    );
  });

  it('on which nothing is sent for too long is cut off; so is one that its role does not answer', async () => {
    await echoing(async ({ url }) => void (await once((await upgrade(url, '/ws/device')).socket.resume(), 'close')), { quietMs: 50 });
    const silent = createServer().on('upgrade', () => undefined);
    await listeningTo(silent, async ({ url }) => expect((await upgrade(url, '/ws/device')).status).toBe(503), { upgradeMs: 50 });
  });

  it.each([
    ['another protocol', 'GET', ['upgrade: h2c'], ''],
    ['another method', 'POST', ['upgrade: websocket', 'content-length: 0'], ''],
    ['a request with a body', 'GET', ['upgrade: websocket', 'content-length: 2'], '{}'],
  ])('is not %s: that is asked as any request', async (_, method, lines, body) => {
    const seen: (string | undefined)[] = [];
    const server = createServer(({ headers }, response) => {
      seen.push(headers.upgrade);
      response.end('plain');
    }).on('upgrade', (__, socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'));
    await listeningTo(server, async ({ url }) => {
      const { status } = await sendThenRead(url, [
        rawRequest(`${method} /ws/device HTTP/1.1`, ['host: a', 'connection: upgrade, close', ...lines], body),
      ]);
      expect([status, seen]).toEqual([200, [undefined]]);
    });
  });
});

const before = (targets: RouterOptions['targets'], bounds: Partial<RouterOptions> = {}): Promise<Router> =>
  startRouter({ targets, host: '127.0.0.1', port: 0, ...bounds });

interface Between {
  /** Of the router. */
  readonly url: string;
  readonly router: Router;
  /** Of the server behind it. */
  readonly origin: string;
}

/** A router before one server, which is every role. */
async function listeningTo(server: Server, use: (between: Between) => Promise<void>, bounds: Partial<RouterOptions> = {}): Promise<void> {
  const { url: origin } = await listening(server);
  const router = await before(() => [origin], bounds);
  try {
    await use({ url: router.url, router, origin });
  } finally {
    await router.close();
    server.close();
    server.closeAllConnections();
  }
}

interface Echoing extends Between {
  /** What the server was asked. */
  readonly requests: readonly IncomingMessage[];
  /** Its ends of the WebSockets. */
  readonly far: readonly Socket[];
}

/** A router before a server that accepts every WebSocket and sends back what it gets. */
async function echoing(use: (echoing: Echoing) => Promise<void>, bounds: Partial<RouterOptions> = {}): Promise<void> {
  const requests: IncomingMessage[] = [];
  const far: Socket[] = [];
  const server = createServer().on('upgrade', (incoming, socket: Socket, head) => {
    requests.push(incoming);
    far.push(socket.on('error', () => undefined));
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n');
    socket.write(head);
    socket.pipe(socket);
  });
  await listeningTo(server, (between) => use({ ...between, requests, far }), bounds);
}

/** Asks for a WebSocket as a client does. Resolves with the head of the answer; what comes after it is left on the socket. */
async function upgrade(
  url: string,
  path: string,
  early = '',
): Promise<{ readonly socket: Socket; readonly status: number; readonly head: string }> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => undefined);
  const headers = ['host: a', 'connection: keep-alive, Upgrade', 'upgrade: WebSocket', 'sec-websocket-key: k', 'x-forwarded-for: 10.0.0.1'];
  socket.write(rawRequest(`GET ${path}?a=%2F HTTP/1.1`, headers, early));
  let got = '';
  while (!got.includes('\r\n\r\n')) got += String((await once(socket, 'data'))[0]);
  socket.pause();
  const end = got.indexOf('\r\n\r\n') + 4;
  const status = Number(got.split(' ')[1]);
  if (status === 101) socket.unshift(got.slice(end));
  return { socket, status, head: status === 101 ? got.slice(0, end) : got };
}

async function listening(server: Server): Promise<{ readonly server: Server; readonly url: string }> {
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

async function nobody(): Promise<string> {
  const [port] = await freePorts(1);
  return `http://127.0.0.1:${port}`;
}
