import { mkdtempSync, readdirSync } from 'node:fs';
import { createServer, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { backup, restore, verify } from '#sqlite';
import { startEmbedded, until } from '#testing';
import { projectorsOf } from '../../apps/processors/projectors-of.js';
import { BackupRoute } from './backup-route.js';
import type { Running } from './start.js';

const token = 'a token of 16 or more'.replaceAll(' ', '-');
const folder = mkdtempSync(join(tmpdir(), 'headwater-backup-'));
const dataDir = join(folder, 'live');
let live: Running;
let key: string;

beforeAll(async () => {
  live = await startEmbedded({ dataDir, backupToken: token });
  key = live.firstKey!;
});
afterAll(() => live.stop());

const ask = (given: RequestInit & { readonly path?: string } = {}): Promise<Response> =>
  fetch(live.adminUrl + (given.path ?? '/backup'), { headers: { authorization: `Bearer ${token}` }, ...given });

/** Each body has its own minute, so that no bucket of a minute has points of two bodies. */
const ms = (n: number): number => 1_699_999_980_000 + 60_000 * n;

/** The nth body is acknowledged before the next is sent. */
async function post(n: number): Promise<void> {
  const points = [1, 2, 3].map((core) => ({ metric: 'm', value: n + core / 10, timestamp: ms(n), tags: { core: `${core}` } }));
  const event = { metric: 'e', class: 'event', value: `event ${n}`, timestamp: ms(n) };
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const body = JSON.stringify({ source_id: 's', points: [...points, event] });
  const response = await fetch(`${live.url}/ingest`, { method: 'POST', headers, body });
  if (response.status !== 200) throw new Error(await response.text());
}

/** What a server answers of the time before a moment. */
async function answersOf({ url }: Running, endMs: number): Promise<readonly string[]> {
  const window = `start=${new Date(ms(0)).toISOString()}&end=${new Date(endMs).toISOString()}`;
  const paths = [
    ...['raw', '1m'].map((interval) => `metrics/query?${window}&interval=${interval}`),
    `logs?${window}&limit=10000`,
    'metrics',
  ];
  const read = async (path: string): Promise<string> =>
    (await fetch(`${url}/v1/sources/s/${path}`, { headers: { 'x-api-key': key } })).text();
  return Promise.all(paths.map(read));
}

describe('a server that is asked for a backup', () => {
  it('sends all that it had acknowledged, while it takes more', async () => {
    const stop = new AbortController();
    let acknowledged = 0;
    const load = (async () => {
      for (; !stop.signal.aborted; acknowledged++) await post(acknowledged + 1);
    })();
    await Promise.race([load, until('some are acknowledged', () => acknowledged > 100)]);
    const before = acknowledged;
    const to = join(folder, 'backup.tar');
    const { head } = await backup({ from: live.adminUrl, stream: (await ask()).body! }, to);
    stop.abort();
    await load;

    const restored = join(folder, 'restored');
    expect(await restore(to, restored)).toMatchObject({ head });
    const server = await startEmbedded({ dataDir: restored });
    await until('the restored server has read its log', async () => (await fetch(`${server.url}/health/ready`)).ok);
    const [all] = (await answersOf(server, ms(1e6))) as [string];
    const last = all.match(/\d\.1\b/g)!.length;
    expect([last >= before, last <= acknowledged]).toEqual([true, true]);
    expect(await answersOf(server, ms(last + 1))).toEqual(await answersOf(live, ms(last + 1)));
    await server.stop();
    expect(await verify(restored, projectorsOf)).toMatchObject({ differences: 0, unreadable: 0, warnings: [], events: last });
  });

  it.each([
    ['without a token', {}, 401],
    ['with another one', { authorization: `Bearer ${token.slice(0, -1)}x` }, 401],
    ['with a longer one', { authorization: `Bearer ${token}x` }, 401],
  ])('%s sends nothing', async (_, headers, status) => {
    const response = await ask({ headers });
    expect([response.status, response.headers.get('www-authenticate'), await response.text()]).toEqual([
      status,
      'Bearer',
      'Send HEADWATER_BACKUP_TOKEN as a bearer token.\n',
    ]);
  });

  it('sends it to GET only, and has no such path where no token is set', async () => {
    expect((await ask({ method: 'POST' })).status).toBe(405);
    const other = await startEmbedded({ dataDir: join(folder, 'other') });
    expect((await fetch(`${other.adminUrl}/backup`, { headers: { authorization: 'Bearer ' } })).status).toBe(404);
    await other.stop();
  });

  it('leaves no copy of its store in its folder', async () => {
    await (await ask()).arrayBuffer();
    expect(readdirSync(dataDir).filter((name) => name.includes('copy'))).toEqual([]);
  });
});

describe('a backup that is sent', () => {
  const piece = Buffer.alloc(256 << 10);
  let made = 0;
  let ended = 0;
  async function* endless(signal: AbortSignal): AsyncGenerator<Uint8Array> {
    try {
      for (; !signal.aborted; made++) yield piece;
    } finally {
      ended++;
    }
  }
  const route = new BackupRoute(token, endless, { info: () => undefined, warn: () => undefined });
  const server = createServer((request, response) => void route.answer(request, response));
  let url: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => void server.close());

  it('waits for its reader, goes to no other one meanwhile, and ends when the reader goes away', async () => {
    const headers = { authorization: `Bearer ${token}` };
    const reader = await new Promise<IncomingMessage>((resolve) => get(url, { headers, agent: false }, resolve));
    // What the reader does not take stays in the buffers of the two sockets.
    let before = -1;
    await until('no more is made', () => {
      const isStill = made === before;
      before = made;
      return isStill;
    });
    expect(made).toBeLessThan(200);
    const other = await fetch(url, { headers });
    expect([other.status, other.headers.get('retry-after'), ended]).toEqual([503, '60', 0]);
    reader.destroy();
    await until('it has ended', () => ended === 1);
    const next = await new Promise<IncomingMessage>((resolve) => get(url, { headers, agent: false }, resolve));
    expect(next.statusCode).toBe(200);
    next.destroy();
    await until('it has ended too', () => ended === 2);
  });
});
