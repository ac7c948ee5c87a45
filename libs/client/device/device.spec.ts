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
});
