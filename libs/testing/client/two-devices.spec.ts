import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Device, Headwater, type Tags } from '#client';
import type { Running } from '#runtime';
import { eventually } from '../eventually.js';
import { startEmbedded } from '../start-embedded.js';
import { DeviceProcess, type DeviceOrder } from './device-process.js';
import { allOf, storedPoints } from './stored-points.js';

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

const where = (): { url: string; apiKey: string } => ({ url: server.url, apiKey: server.firstKey! });
const startMs = Date.now() - 60_000;

const orderOf = (sourceId: string, metric: string, connects: boolean): DeviceOrder => ({
  ...where(),
  sourceId,
  buffer: { folder: join(dir, sourceId, metric) },
  connects,
  metric,
  tags: { device: metric },
  points: 10_000,
  warmUp: 1000,
  overMs: 1500,
  startMs,
});

describe('two processes with one id', () => {
  it.each([
    ['over the channel', true, true, ['right', 'right', 'right', 'left']],
    ['over HTTP', false, false, []],
    ['one over HTTP and one over the channel', true, false, ['left', 'left', 'left', 'left']],
  ] as const)(
    '%s: all points of both are stored, and a command goes to the one that connected last',
    async (name, first, second, expected) => {
      const sourceId = name.replaceAll(' ', '-');
      const source = new Headwater(where()).source(sourceId);
      const answers: unknown[] = [];
      const ask = async (times: number): Promise<void> => {
        if (!first) return;
        for (let asked = 0; asked < times; asked++) answers.push((await source.command('whoami', {}, { wait: true })).result);
      };
      const orders = [orderOf(sourceId, 'left', first), orderOf(sourceId, 'right', second)];
      const left = new DeviceProcess(orders[0]!);
      await left.reaches('handing over');
      const right = new DeviceProcess(orders[1]!);
      await right.reaches('handing over');
      const devices = [left, right];
      await ask(3);
      for (const device of devices) await device.reaches('settled');
      for (const { state } of devices) {
        expect(state.errors).toEqual([]);
        expect(state.stats).toMatchObject({ handedOver: 10_000, stored: 10_000 });
      }
      expect(await right.end()).toBe('');
      await ask(1);
      expect(await left.end()).toBe('');
      expect(answers).toEqual(expected);
      // Only the process that answered was given the command.
      const given = ['left', 'right'].map((metric) => answers.filter((answer) => answer === metric).length);
      expect(devices.map(({ state }) => state.commands.length)).toEqual(given);
      for (const order of orders) await eventually(async () => expect(await storedPoints(order, server.url)).toEqual(allOf(order)));
    },
  );

  it('count equal events of one millisecond once, unless tags tell them apart', async () => {
    const timestampMs = Date.now();
    const each = async (tags: Tags): Promise<void> => {
      const device = new Device({ ...where(), sourceId: 'equal' });
      device.event('same', 'tick', { timestampMs });
      device.event('tagged', 'tick', { timestampMs, tags });
      await device.flush();
      expect(device.stats.stored).toBe(2);
      await device.close();
    };
    await each({ device: 'left' });
    await each({ device: 'right' });
    await eventually(async () => {
      const names = (await new Headwater(where()).source('equal').logs()).map(({ metric }) => metric);
      expect(names.sort()).toEqual(['same', 'tagged', 'tagged']);
    });
  });
});

describe('a second process on the folder of another', () => {
  it('is told so, and leaves the first one alone', async () => {
    const order = orderOf('alone', 'm', false);
    const first = new DeviceProcess(order);
    await first.reaches('handing over');
    const second = new DeviceProcess(order);
    expect(await second.end()).toMatch(/buffer_in_use/);
    await first.reaches('settled');
    expect(await first.end()).toBe('');
    await eventually(async () => expect(await storedPoints(order, server.url)).toEqual(allOf(order)));
  });
});
