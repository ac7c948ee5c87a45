import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { endWithUs } from '../../../infra/servers/index.js';
import { ServerProcess } from '../crash/server-process.js';
import type { Keys } from '../deployment.js';
import { makeKeys } from '../embedded-deployment.js';
import { send } from '../http/send.js';
import { SocketClient } from '../http/socket-client.js';
import { eventually } from '../eventually.js';
import { durations, isLong } from './durations.js';

const main = fileURLToPath(new URL('socket-client.js', import.meta.url));
const mib = 1024 * 1024;
/** A device that reads nothing is cut after 30 s. */
const patienceMs = 120_000;
/** All devices are back within so long after the server was killed. */
const backMs = 60_000;

/** Sockets in a process of their own. */
class Sockets {
  readonly said: string[] = [];
  readonly #child: ChildProcess;

  constructor(kind: string, count: number, url: string, key: string) {
    const child = spawn(process.execPath, [main, url, key, kind, String(count)], { stdio: ['pipe', 'pipe', 'inherit'] });
    endWithUs(child);
    createInterface(child.stdout).on('line', (line) => this.said.push(line));
    this.#child = child;
  }

  has(what: string, times = 1, forMs = patienceMs): Promise<void> {
    return eventually(() => {
      const found = this.said.filter((line) => line === what).length;
      if (found < times) throw new Error(`of ${times} sockets only ${found} are ${what}`);
    }, forMs);
  }

  /** Resolves with how many were closed with which code until then. */
  async end(): Promise<Readonly<Record<string, number>>> {
    const child = this.#child;
    if (child.exitCode === null) {
      const ended = once(child, 'close');
      child.stdin!.end();
      await ended;
    }
    const last = this.said.findLast((line) => line.startsWith('codes '));
    return JSON.parse(last?.slice('codes '.length) ?? '{}') as Record<string, number>;
  }
}

describe('one server with sockets that do nothing, or what is slow or wrong', () => {
  let dataDir: string;
  let keys: Keys;
  let server: ServerProcess;
  let sockets: Sockets | undefined;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'headwater-sockets-'));
    keys = await makeKeys(join(dataDir, 'data'));
    server = await ServerProcess.on(join(dataDir, 'data'));
    await server.start();
  });

  afterEach(() => sockets?.end());

  afterAll(async () => {
    await server?.stop();
    await rm(dataDir, { recursive: true });
  });

  const online = async (): Promise<number> => {
    const { text } = await send(server.url, { path: '/v1/fleet/health', headers: { 'x-api-key': keys.own } });
    return (JSON.parse(text) as { readonly sources_online: number }).sources_online;
  };

  /** Has a source that is watched report events. */
  const report = async (metric: string, values: readonly unknown[]): Promise<void> => {
    const headers = { 'x-api-key': keys.own, 'content-type': 'application/json' };
    const points = values.map((value) => ({ metric, class: 'event', value }));
    const body = JSON.stringify({ source_id: 'watched', points });
    expect((await send(server.url, { method: 'POST', path: '/ingest', headers, body })).status).toBe(200);
  };

  const memory = (): number => Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))![1]) * 1024;

  /**
   * Does something while another organization goes on: it is answered, and the server needs no more memory than so much. Says how long the
   * answers took.
   */
  async function others(name: string, maxMib: number, work: () => Promise<unknown>): Promise<void> {
    const before = memory();
    const device = await SocketClient.open(server.url, '/ws/device');
    device.send({ type: 'device_auth', api_key: keys.other, source_id: 'other', acks: true });
    await device.json();
    const over = new AbortController();
    let [longestMs, healthMs, asked, most] = [0, 0, 0, before];
    const asking = (async () => {
      while (!over.signal.aborted) {
        const askedMs = performance.now();
        expect((await send(server.url, { path: '/health' })).status).toBe(200);
        const beganMs = performance.now();
        healthMs = Math.max(healthMs, beganMs - askedMs);
        device.send({ type: 'telemetry', seq: ++asked, points: [{ metric: 'm', value: asked }] });
        expect(await device.json()).toEqual({ type: 'telemetry_ack', seq: asked });
        longestMs = Math.max(longestMs, performance.now() - beganMs);
        most = Math.max(most, memory());
        await pause(20);
      }
    })();
    const beganMs = performance.now();
    try {
      await work();
    } finally {
      over.abort();
      await asking;
      await device.close();
    }
    const grown = (most - before) / mib;
    process.stderr.write(
      `${name}: ${((performance.now() - beganMs) / 1000).toFixed(1)} s, ${asked} answers to others, longest ${longestMs.toFixed(0)} ms, of /health ${healthMs.toFixed(0)} ms, memory grew by ${grown.toFixed(1)} MiB to ${(most / mib).toFixed(0)}\n`,
    );
    expect(grown).toBeLessThan(maxMib);
  }

  it(`${durations.idle} that are idle`, async () => {
    const { idle } = durations;
    await others(`${idle} idle sockets`, 64 + idle / 64, async () => {
      sockets = new Sockets('idle', idle, server.url, keys.own);
      await sockets.has('begun');
      const beganMs = performance.now();
      const headers = { 'x-api-key': keys.own, 'content-type': 'application/json' };
      const body = JSON.stringify({ source_id: 'watched', points: [{ metric: 'm', value: 1 }] });
      expect((await send(server.url, { method: 'POST', path: '/ingest', headers, body })).status).toBe(200);
      await sockets.has('seen');
      process.stderr.write(`all have seen a point after ${(performance.now() - beganMs).toFixed(0)} ms\n`);
    });
    expect(await sockets!.end()).toEqual({});
  });

  it('devices that come back after the server was killed', async () => {
    const { idle } = durations;
    sockets = new Sockets('faithful devices', idle, server.url, keys.own);
    await sockets.has('begun');
    const connected = sockets.said.filter((line) => line === 'connected').length;
    await server.kill();
    await server.start();
    await others(`${idle} devices that come back`, 192, () => sockets!.has('connected', connected + 1, backMs));
    await eventually(async () => expect(await online()).toBe(idle));
  }, 180_000);

  it('people who read nothing beside people who do', async () => {
    const [deaf, bodies, eventsOfEach] = [20, 300, 10];
    const count = 11 * deaf;
    sockets = new Sockets('viewers', count, server.url, keys.own);
    await sockets.has('begun');
    await others(`${deaf} who read nothing`, 5 * deaf, async () => {
      const texts = Array.from({ length: eventsOfEach }, (_, at) => `${at}`.padEnd(4_000));
      for (let body = 1; body <= bodies; body++) {
        await report('e', texts);
        // Without this wait a slow machine falls behind, and viewers that do read are cut off for being slow.
        await sockets!.has('read', body);
      }
      await report('last', [bodies * eventsOfEach + 1]);
      await sockets!.has('complete', count - deaf);
      await sockets!.has('closed', deaf);
    });
    // Those who read again in time come to the frame that says why; others are cut off before.
    const { 1006: cut = 0, 1013: told = 0, ...more } = await sockets.end();
    expect([cut + told, more]).toEqual([deaf, {}]);
  }, 180_000);

  it.each<readonly [what: string, kind: string, count: number, maxMib: number, codes: object]>([
    // Both of their frames come slowly and whole.
    ...(isLong ? [['devices that send a byte at a time', 'bytes', 100, 48, { 1000: 100 }] as const] : []),
    ['strangers who send a byte at a time', 'strangers', 100, 48, { 1008: 100 }],
    ['devices that send a frame in 100 fragments', 'fragments', 100, 48, { 1008: 100 }],
    ['devices that send nonsense as fast as they can, and read nothing', 'deaf devices', 20, 192, { 1006: 20 }],
  ])(
    '%s',
    async (what, kind, count, maxMib, codes) => {
      await others(what, maxMib, async () => {
        sockets = new Sockets(kind, count, server.url, keys.own);
        await sockets.has('closed', count);
        if (kind === 'bytes') await sockets.has('acknowledged', count);
      });
      expect(await sockets!.end()).toEqual(codes);
    },
    180_000,
  );
});
