import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { eventually, Link, send, startEmbedded, until } from '#testing';
import { Device } from '../index.js';
import type { DeviceOptions } from './device.js';

let dataDir: string;
let server: Running;
let link: Link;
const devices: Device[] = [];
const errors: unknown[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir });
  await server.opened;
  link = await Link.to(() => Number(new URL(server.url).port));
});

afterEach(async () => {
  await Promise.all(devices.splice(0).map((device) => device.close({ timeoutMs: 0 })));
  errors.length = 0;
});

afterAll(async () => {
  link.close();
  await server.stop();
  await rm(dataDir, { recursive: true });
});

function deviceOf(sourceId: string, options: Partial<DeviceOptions> = {}): Device {
  const device = new Device({
    sourceId,
    url: `http://127.0.0.1:${link.port}`,
    apiKey: server.firstKey!,
    batch: { everyMs: 20 },
    retry: { firstMs: 20, maxMs: 200, slowMs: 200 },
    onError: (error) => errors.push(error),
    ...options,
  });
  devices.push(device);
  return device;
}

async function ask(path: string, body?: object): Promise<Record<string, unknown>> {
  const headers = { 'x-api-key': server.firstKey!, ...(body && { 'content-type': 'application/json' }) };
  const { text } = await send(server.url, { path, headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
  return JSON.parse(text) as Record<string, unknown>;
}

const logs = async (id: string): Promise<Record<string, unknown>[]> =>
  (await ask(`/v1/sources/${id}/logs?last=1h&limit=10000`)) as unknown as Record<string, unknown>[];

/** Its events, once there are so many. */
const stored = (id: string, count: number): Promise<Record<string, unknown>[]> =>
  eventually(async () => {
    const found = await logs(id);
    expect(found.length).toBe(count);
    return found;
  }, 20_000);

const isOnline = async (id: string): Promise<unknown> => (await ask(`/v1/sources/${id}`))['online'];

const command = (id: string, name: string, params: object = {}): Promise<Record<string, unknown>> =>
  ask(`/v1/sources/${id}/commands`, { command: name, params });

/** How commands ended, in the order in which they were sent. */
async function outcomes(id: string, count: number): Promise<Record<string, unknown>[]> {
  return eventually(async () => {
    const found = (await logs(id)).filter(({ metric }) => metric === 'command.result');
    const ended = found.map(({ value }) => JSON.parse(String(value)) as Record<string, unknown>).filter(({ event }) => event !== 'ack');
    if (ended.length < count) throw new Error(`only ${ended.length} have ended: ${JSON.stringify(found)}`);
    return ended.map(({ command: name, event, result, error }) => ({ command: name, event, result, error }));
  });
}

describe('a device with the real-time channel', () => {
  it('is online, and has its points stored without a request', async () => {
    const fetched: unknown[] = [];
    const device = deviceOf('online', { fetch: (...args) => (fetched.push(args), fetch(...args)) });
    await device.connect();
    expect(await isOnline('online')).toBe(true);
    for (let at = 0; at < 50; at++) device.event('step', at, { timestampMs: Date.now() - 100 + at });
    await device.flush();
    expect((await stored('online', 50)).map(({ value }) => value)).toEqual(Array.from({ length: 50 }, (_, at) => String(at)));
    expect(device.stats).toMatchObject({ stored: 50, buffered: { points: 0 } });
    expect(fetched).toEqual([]);
    expect(errors).toEqual([]);
  });

  it('loses nothing and doubles nothing when its connections are cut', async () => {
    const device = deviceOf('cut');
    await device.connect();
    const count = 3000;
    for (let at = 0; at < count; at++) {
      device.event('tick', at % 3);
      if (at % 20 === 0) await new Promise(setImmediate);
      if (at % 500 === 250) link.holdAnswers();
      if (at % 500 === 400) link.cut();
    }
    link.cut();
    await device.flush();
    expect(device.stats).toMatchObject({ handedOver: count, stored: count });
    const found = (await stored('cut', count)).map(({ value }) => Number(value));
    expect([0, 1, 2].map((kind) => found.filter((value) => value === kind).length)).toEqual([count / 3, count / 3, count / 3]);
  });

  it('stores everything once over a network that takes 200 ms each way and loses answers', async () => {
    const far = await Link.to(() => Number(new URL(server.url).port), { delayMs: 200 });
    const device = deviceOf('far', { url: `http://127.0.0.1:${far.port}` });
    const beganMs = performance.now();
    await device.connect();
    // There and back for the upgrade, and for the login.
    expect(performance.now() - beganMs).toBeGreaterThan(790);
    const handOver = (): void => {
      for (let at = 0; at < 1000; at++) device.event('tick', at % 3);
    };
    handOver();
    await device.flush();
    far.holdAnswers();
    handOver();
    await stored('far', 2000);
    expect(device.stats.stored).toBe(1000);
    far.cut();
    await device.flush();
    expect(device.stats).toMatchObject({ handedOver: 2000, stored: 2000 });
    await stored('far', 2000);
    await device.close();
    far.close();
  });

  it('connects again by itself', async () => {
    const device = deviceOf('again');
    device.command('ping', () => 'pong');
    await device.connect();
    for (let count = 1; count < 4; count++) {
      link.cut();
      await until('a command arrives', async () => (await command('again', 'ping'))['queued'] === true);
      expect(await outcomes('again', count)).toHaveLength(count);
    }
  });

  it('is told when it is not let in, and goes on trying', async () => {
    const device = deviceOf('stranger', { apiKey: `hw_${'0'.repeat(38)}` });
    await expect(device.connect()).rejects.toMatchObject({ code: 'not_let_in', message: expect.stringContaining('API key') });
    await expect(device.connect()).rejects.toMatchObject({ code: 'not_let_in' });
  });

  it('stops waiting when it is told to', async () => {
    const device = deviceOf('patient', { url: 'http://127.0.0.1:1' });
    const stop = new AbortController();
    const connected = device.connect({ signal: stop.signal });
    stop.abort(new Error('enough'));
    await expect(connected).rejects.toThrow('enough');
    const other = device.connect();
    await device.close();
    await expect(other).rejects.toMatchObject({ code: 'closed' });
  });

  it('has a frame that the server refuses cut until the bad point is found', async () => {
    const refused: unknown[] = [];
    const device = deviceOf('bad', { onRefused: ({ name, value }) => refused.push([name, value]) });
    await device.connect();
    for (let at = 0; at < 20; at++) device.event(at === 7 ? 'nested' : 'fine', at === 7 ? nested(62) : at);
    await device.flush();
    expect(device.stats).toMatchObject({ stored: 19, refused: 1 });
    expect(refused).toEqual([['nested', nested(62)]]);
  });
});

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);

describe('commands', () => {
  it('are carried out, and how they ended is reported once', async () => {
    const device = deviceOf('worker');
    const progress: unknown[] = [];
    device.command('set-speed', ({ rpm }, context) => {
      context.progress(0.5);
      progress.push(context.id, context.deadline);
      return { rpm };
    });
    device.command('fail', () => {
      throw new Error('It is stuck.');
    });
    device.command('nothing', () => undefined);
    await device.connect();
    expect(await command('worker', 'set-speed', { rpm: 300 })).toMatchObject({ queued: true });
    await command('worker', 'fail');
    await command('worker', 'nothing');
    await command('worker', 'dance');
    expect(await outcomes('worker', 4)).toEqual([
      { command: 'set-speed', event: 'result', result: { rpm: 300 } },
      { command: 'fail', event: 'error', error: 'failed: It is stuck.' },
      { command: 'nothing', event: 'result', result: null },
      { command: 'dance', event: 'error', error: 'unknown_command: This device has no command "dance".' },
    ]);
    expect(progress).toEqual([expect.any(String), expect.any(Date)]);
    expect((await logs('worker')).filter(({ value }) => !String(value).includes('"ack"'))).toHaveLength(4);
  });

  it('wait for others of their name, unless they need not', async () => {
    const device = deviceOf('queue');
    const began: string[] = [];
    const ends: (() => void)[] = [];
    const slow = (name: string) => () => {
      began.push(name);
      return new Promise<void>((resolve) => ends.push(resolve));
    };
    device.command('one', slow('one'));
    device.command('many', slow('many'), { parallel: true });
    await device.connect();
    for (const name of ['one', 'one', 'many', 'many']) await command('queue', name);
    await until('three have begun', () => began.length === 3);
    expect(began.sort()).toEqual(['many', 'many', 'one']);
    for (const end of ends) end();
    await until('the fourth has begun', () => began.length === 4);
    for (const end of ends) end();
    expect(await outcomes('queue', 4)).toHaveLength(4);
  });

  it('are all given before the device connects, at most 256 of them', async () => {
    const device = deviceOf('able');
    for (let at = 0; at < 256; at++) device.command(`c${at}`, () => at);
    expect(() => device.command('c256', () => 256)).toThrow('at most 256 commands');
    const late = deviceOf('late');
    late.command('known', () => 'old');
    await late.connect();
    expect(() => late.command('new', () => 1)).toThrow('before it connects');
    late.command('known', () => 'new');
    await command('late', 'known');
    expect(await outcomes('late', 1)).toEqual([{ command: 'known', event: 'result', result: 'new' }]);
  });

  it('that end while there is no connection are reported on the next one', async () => {
    const device = deviceOf('away');
    let end: (() => void) | undefined;
    device.command('long', () => new Promise<string>((resolve) => (end = () => resolve('done'))));
    await device.connect();
    await command('away', 'long');
    await until('it has begun', () => end !== undefined);
    link.cut();
    end!();
    expect(await outcomes('away', 1)).toEqual([{ command: 'long', event: 'result', result: 'done' }]);
    link.cut();
    await until('it is online', async () => (await isOnline('away')) === true);
    expect(await outcomes('away', 1)).toHaveLength(1);
  });

  it('are told that the device closes', async () => {
    const device = deviceOf('closing');
    let signal: AbortSignal | undefined;
    device.command('wait', (_, context) => {
      ({ signal } = context);
      return new Promise(() => undefined);
    });
    await device.connect();
    await command('closing', 'wait');
    await until('it has begun', () => signal !== undefined);
    await device.close();
    expect(signal!.reason).toMatchObject({ code: 'closed' });
    expect(await outcomes('closing', 1)).toEqual([expect.objectContaining({ event: 'error', error: expect.stringContaining('closed') })]);
  });
});
