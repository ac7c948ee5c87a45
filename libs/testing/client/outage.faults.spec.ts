import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Running } from '#runtime';
import { eventually } from '../eventually.js';
import { durations, isLong, rowMs } from '../faults/durations.js';
import { Link } from '../link.js';
import { startEmbedded } from '../start-embedded.js';
import { DeviceProcess, type DeviceOrder } from './device-process.js';
import { allOf, storedPoints } from './stored-points.js';

const { deviceAwayMs: awayMs, devicePoints: points } = durations;
/** How much more memory than before the outage a device has at most, during it and afterwards. */
const maxMoreMb = 32;
const maxConnectionsOfEach = 4;
const settleMs = 180_000;

let dir: string;
let server: Running;
let link: Link;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'headwater-'));
  await startServer();
  link = await Link.to(() => Number(new URL(server.url).port));
});

afterAll(async () => {
  link.close();
  await server.stop();
  await rm(dir, { recursive: true });
});

async function startServer(): Promise<void> {
  server = await startEmbedded({ dataDir: join(dir, 'data') });
  await server.opened;
}

describe(`a server that is away for ${awayMs / 1000} s`, () => {
  it(
    `gets all ${points} points of each device afterwards, once and in their order, while the devices stay small`,
    async () => {
      const orderOf = (sourceId: string, connects: boolean): DeviceOrder => ({
        sourceId,
        connects,
        url: `http://127.0.0.1:${link.port}`,
        apiKey: server.firstKey!,
        buffer: { folder: join(dir, sourceId), maxBytes: 2 ** 28 },
        // A short outage must not end in a pause of half a minute.
        ...(!isLong && { retry: { firstMs: 100, maxMs: 1000 } }),
        metric: 'm',
        points,
        warmUp: points / 10,
        overMs: awayMs,
        startMs: Date.now() - points - 60_000,
      });
      const orders = [orderOf('over-http', false), orderOf('over-the-channel', true)];
      const devices = orders.map((order) => new DeviceProcess(order));
      for (const device of devices) await device.reaches('handing over');
      const warmMb = devices.map(({ state }) => state.memoryMb);
      for (const device of devices) device.mostMb = 0;

      await link.turn('refusing');
      await server.stop();
      for (const way of ['refusing', 'silent', 'refusing', 'silent'] as const) {
        await link.turn(way);
        await pause(awayMs / 4);
      }
      for (const device of devices) await device.reaches('waiting');
      for (const { state } of devices) expect(state.stats.buffered.points).toBeGreaterThan(0.8 * points);

      await startServer();
      await link.turn('open');
      const beganMs = performance.now();
      for (const device of devices) await device.reaches('settled', settleMs);
      const settledS = (performance.now() - beganMs) / 1000;
      for (const device of devices) expect(await device.end()).toBe('');
      for (const { state } of devices) {
        const { handedOver, stored, refused, dropped, buffered } = state.stats;
        expect({ handedOver, stored, refused, dropped, buffered }).toEqual({
          handedOver: points,
          stored: points,
          refused: 0,
          dropped: 0,
          buffered: { points: 0, bytes: 0 },
        });
      }
      for (const order of orders)
        await eventually(async () => expect(await storedPoints(order, server.url)).toEqual(allOf(order)), settleMs);

      const moreMb = devices.map(({ mostMb }, at) => mostMb - warmMb[at]!);
      const grown = moreMb.map((mb, at) => `${mb.toFixed(0)} over ${warmMb[at]!.toFixed(0)}`).join(' and ');
      process.stderr.write(
        `all stored ${settledS.toFixed(1)} s after an outage of ${awayMs / 1000} s; devices grew by ${grown} MB, at most ${link.mostConnections} connections of both\n`,
      );
      expect(Math.max(...moreMb)).toBeLessThan(maxMoreMb);
      expect(link.mostConnections).toBeLessThanOrEqual(devices.length * maxConnectionsOfEach);
    },
    rowMs,
  );
});
