import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { eventually, Link, send, startEmbedded } from '#testing';
import { Device } from '../index.js';

const child = fileURLToPath(new URL('test-hand-over.js', import.meta.url));
let dir: string;
let server: Running;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir: join(dir, 'data') });
  await server.opened;
});

afterAll(async () => {
  await server.stop();
  await rm(dir, { recursive: true });
});

/** Lets a device hand over for a while and kills it. What it had handed over a second before. */
async function killed(sourceId: string, url: string, first: number, connect: boolean): Promise<{ safe: number; last: number }> {
  const env = { ...process.env, HEADWATER_URL: url, HEADWATER_API_KEY: server.firstKey!, ...(connect && { CONNECT: '1' }) };
  const running = spawn(process.execPath, ['--no-warnings', child, sourceId, join(dir, sourceId), `${first}`], {
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: [number: number, ms: number][] = [];
  createInterface(running.stdout).on('line', (line) => said.push([Number(line), performance.now()]));
  await eventually(() => expect(said.length).toBeGreaterThan(200));
  await pause(1100 + Math.random() * 300);
  const killedMs = performance.now();
  running.kill('SIGKILL');
  await once(running, 'close');
  return { safe: said.findLast(([, ms]) => ms < killedMs - 1000)![0], last: said.at(-1)![0] };
}

describe('kill -9', () => {
  it.each([
    ['with a server', true, false],
    ['with a connection', true, true],
    ['with no server', false, false],
  ] as const)('%s: what was handed over more than a second before is stored, once', async (what, hasServer, connects) => {
    const sourceId = what.replaceAll(' ', '-');
    const link = await Link.to(() => (hasServer ? Number(new URL(server.url).port) : 1));
    const safe: number[] = [];
    const all: number[] = [];
    for (let run = 0, first = 0; run < 3; run++) {
      const { safe: until, last } = await killed(sourceId, `http://127.0.0.1:${link.port}`, first, connects);
      for (let number = first; number <= until; number++) safe.push(number);
      for (let number = first; number <= last; number++) all.push(number);
      first = last + 1;
    }
    link.close();
    const device = new Device({ sourceId, url: server.url, apiKey: server.firstKey!, buffer: { folder: join(dir, sourceId) } });
    await device.flush();
    await device.close();
    const { refused, dropped, buffered } = device.stats;
    expect({ refused, dropped, buffered }).toEqual({ refused: 0, dropped: 0, buffered: { points: 0, bytes: 0 } });
    await eventually(async () => {
      const numbers = (await eventsOf(sourceId, 'number')).map(Number);
      const found = new Set(numbers);
      expect(safe.filter((number) => !found.has(number))).toEqual([]);
      expect(numbers).toEqual(all.filter((number) => found.has(number)));
      // Each number came with an event that is always the same, and may have lost it at the very end of a run.
      const same = (await eventsOf(sourceId, 'same')).length;
      expect([0, 1, 2, 3]).toContain(numbers.length - same);
    }, 10_000);
    expect(safe.length).toBeGreaterThan(600);
  });
});

async function eventsOf(sourceId: string, name: string): Promise<string[]> {
  const headers = { 'x-api-key': server.firstKey! };
  const { text } = await send(server.url, { path: `/v1/sources/${sourceId}/logs?last=1h&limit=10000&name=${name}`, headers });
  return (JSON.parse(text) as { value: string }[]).map(({ value }) => value);
}

it('a process whose last step is to close its device stays until a server that was away has the points', async () => {
  let tries = 0;
  const link = await Link.to(() => (tries++ < 2 ? 1 : Number(new URL(server.url).port)));
  const program = `
    import { Device } from ${JSON.stringify(new URL('../index.js', import.meta.url).href)};
    const device = new Device({ sourceId: 'brief', url: 'http://127.0.0.1:${link.port}', retry: { firstMs: 100 } });
    device.metric('m', 1);
    await device.close();
    console.log(device.stats.stored);`;
  const brief = spawn(process.execPath, ['--no-warnings', '--input-type=module', '-e', program], {
    env: { ...process.env, HEADWATER_API_KEY: server.firstKey! },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said: string[] = [];
  createInterface(brief.stdout).on('line', (line) => said.push(line));
  const [code] = (await once(brief, 'close')) as [number];
  link.close();
  expect([code, said, tries]).toEqual([0, ['1'], 3]);
});
