import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { send, startEmbedded } from '#testing';
import { Device } from '../index.js';
import type { DeviceOptions } from './device.js';

let dataDir: string;
let server: Running;
const devices: Device[] = [];

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'headwater-'));
  server = await startEmbedded({ dataDir });
  await server.opened;
});

afterEach(async () => {
  await Promise.all(devices.splice(0).map((device) => device.close({ timeoutMs: 0 })));
});

afterAll(async () => {
  await server.stop();
  await rm(dataDir, { recursive: true });
});

function deviceOf(sourceId: string, options: Partial<DeviceOptions> = {}): Device {
  const device = new Device({ sourceId, url: server.url, apiKey: server.firstKey!, ...options });
  devices.push(device);
  return device;
}

const logs = (id: string): Promise<unknown> => read(`/v1/sources/${id}/logs?last=1h`);

async function read(path: string): Promise<unknown> {
  const { text } = await send(server.url, { path, headers: { 'x-api-key': server.firstKey! } });
  return JSON.parse(text);
}

describe('a device over HTTP', () => {
  it('has points stored that it was handed over', async () => {
    const device = deviceOf('press-7');
    device.metric('spindle.temperature', 61.2, { tags: { line: 'a' } });
    device.event('door.opened', { by: 'operator' });
    await device.flush();
    expect(device.stats).toMatchObject({ handedOver: 2, stored: 2, refused: 0, dropped: 0, buffered: { points: 0, bytes: 0 } });
    expect(await read('/v1/sources/press-7/metrics/latest')).toEqual({ metrics: { 'spindle.temperature': 61.2 } });
    expect(await logs('press-7')).toEqual([
      { timestamp_ms: expect.any(Number), metric: 'door.opened', value: '{"by":"operator"}', tags: {} },
    ]);
  });

  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
  const tags = (count: number): Record<string, string> => Object.fromEntries(Array.from({ length: count }, (_, at) => [`t${at}`, 'x']));

  it.each<readonly [string, (device: Device) => void]>([
    ['a name of 256 bytes', (device) => device.metric('ü'.repeat(128), 1)],
    ['16 tags', (device) => device.metric('m', 1, { tags: tags(16) })],
    ['half a character in a text and in a tag', (device) => device.event('e', '\ud800', { tags: { t: '\udfff' } })],
    ['a text of 4,096 bytes', (device) => device.event('e', '"'.repeat(4096))],
    ['JSON that is 61 deep', (device) => device.event('e', nested(61))],
    ['a time of 1970', (device) => device.event('e', 1, { timestampMs: 1 })],
  ])('has a point stored that has %s', async (_, handOver) => {
    const device = deviceOf('fits');
    handOver(device);
    await device.flush();
    expect(device.stats).toMatchObject({ handedOver: 1, stored: 1, lastError: undefined });
  });

  it.each<readonly [string, string, (device: Device) => void]>([
    ['no name', 'invalid_points', (device) => device.metric('', 1)],
    ['a name of 257 bytes', 'invalid_points', (device) => device.metric(`${'ü'.repeat(128)}x`, 1)],
    ['a name with NUL', 'invalid_points', (device) => device.event('a\0')],
    ['half a character in its name', 'invalid_points', (device) => device.event('a\ud800')],
    ['a name that is none', 'invalid_points', (device) => device.metric(7 as never, 1)],
    ['JSON that is 62 deep', 'json_too_deep', (device) => device.event('e', nested(62))],
    ['a text of 4,097 bytes', 'invalid_points', (device) => device.event('e', 'x'.repeat(4097))],
    ['17 tags', 'invalid_points', (device) => device.metric('m', 1, { tags: tags(17) })],
    ['a list of tags', 'invalid_points', (device) => device.metric('m', 1, { tags: ['a'] as never })],
    ['a number as a tag', 'invalid_points', (device) => device.metric('m', 1, { tags: { a: 1 } as never })],
    ['a long tag', 'invalid_points', (device) => device.metric('m', 1, { tags: { a: 'x'.repeat(257) } })],
  ])('is told of a point that has %s, and has the others stored', async (_, code, handOver) => {
    const refused: unknown[] = [];
    const device = deviceOf('does-not-fit', { onRefused: ({ count, error }) => refused.push([count, error.code]) });
    device.metric('before', 1);
    handOver(device);
    device.metric('after', 1);
    await device.flush();
    expect(refused).toEqual([[1, code]]);
    expect(device.stats).toMatchObject({ handedOver: 3, stored: 2, refused: 1 });
  });
});

describe('a device that cannot be', () => {
  it.each<readonly [string, Partial<DeviceOptions>, string]>([
    ['an id with a blank', { sourceId: 'a b' }, 'Give sourceId'],
    ['an id that begins with a dot', { sourceId: '.a' }, 'begin with a letter or digit'],
    ['no id', { sourceId: undefined as never }, 'Give sourceId'],
    ['batches of nothing', { batch: { points: 0 } }, 'numbers above 0'],
    ['a time that is none', { batch: { everyMs: Number.NaN } }, 'numbers above 0'],
    ['no pause between tries', { retry: { firstMs: 0 } }, 'numbers above 0'],
    ['no buffer', { buffer: { maxBytes: -1 } }, 'numbers above 0'],
  ])('has %s', (_, options, message) => {
    expect(() => deviceOf('a', options)).toThrow(
      expect.objectContaining({ code: 'invalid_argument', message: expect.stringContaining(message) }),
    );
  });
});
