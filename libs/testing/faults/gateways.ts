import { expect } from '@jest/globals';
import type { RoleProcess } from '../../../infra/cluster/role-process.js';
import { eventually } from '../eventually.js';
import type { DeviceJson, KeyJson } from '../http/client.js';
import { SocketClient } from '../http/socket-client.js';
import { known } from '../api/stage.js';
import type { LiveLoad } from './live-load.js';
import type { Stage } from './stage.js';

/** How long a source may be shown as online whose gateway is gone. */
const offlineMs = 30_000;

/** A device that does not come back, on one gateway. */
class Witness {
  private constructor(
    private readonly stage: Stage,
    readonly socket: SocketClient,
    private readonly sourceId: string,
  ) {}

  static async on(stage: Stage, gateway: RoleProcess): Promise<Witness> {
    const sourceId = `witness-${gateway.pid}`;
    const socket = await SocketClient.open(gateway.url, '/ws/device');
    socket.send({ type: 'device_auth', api_key: stage.client.key, source_id: sourceId });
    expect(await socket.json()).toMatchObject({ type: 'authenticated' });
    // A source that has sent nothing is known while it is online only.
    socket.send({ type: 'telemetry', points: [{ metric: 'm', value: 1 }] });
    const witness = new Witness(stage, socket, sourceId);
    await known(() => witness.#isShown(true));
    return witness;
  }

  /** Resolves when everybody takes the device for offline. */
  async isOffline(): Promise<void> {
    await eventually(() => this.#isShown(false), offlineMs);
    await known(() => this.#isShown(false));
  }

  async #isShown(online: boolean): Promise<void> {
    const device = await this.stage.client.json<DeviceJson>(`/v1/sources/${this.sourceId}`);
    expect(device).toMatchObject({ online, last_seen_ms: expect.any(Number) });
  }
}

/** One gateway is gone without a word, until the others have all its devices and viewers. */
export async function killGateway(stage: Stage, gateway: RoleProcess, live: LiveLoad): Promise<void> {
  const witness = await Witness.on(stage, gateway);
  const beganMs = performance.now();
  await gateway.stop('SIGKILL');
  try {
    await Promise.all([tellWhen('its device is offline', beganMs, witness.isOffline()), tellWhen('all go on', beganMs, live.goesOn())]);
  } finally {
    gateway.start();
    await gateway.ready();
  }
}

/** One gateway stands still for longer than others take it for alive, and then goes on. */
export async function freezeGateway(stage: Stage, gateway: RoleProcess, live: LiveLoad): Promise<void> {
  const witness = await Witness.on(stage, gateway);
  const beganMs = performance.now();
  process.kill(gateway.pid!, 'SIGSTOP');
  try {
    await Promise.all([tellWhen('its device is offline', beganMs, witness.isOffline()), tellWhen('all go on', beganMs, live.goesOn())]);
  } finally {
    process.kill(gateway.pid!, 'SIGCONT');
  }
  const wokenMs = performance.now();
  expect(await witness.socket.json()).toMatchObject({ type: 'error', code: 'BACKEND_UNAVAILABLE' });
  await tellWhen('it has ended its connections', wokenMs, witness.socket.end());
  expect(witness.socket.closed).toBe(1013);
  await gateway.ready();
}

/** A deleted key ends what it has opened within so long. */
const deletedMs = 10_000;
/** Devices, and for each of them one who watches its points and one its events. */
const devicesOfEach = 10;

/** A key is deleted whose devices and viewers are on all gateways: all of them are cut off in time, and nobody else is. */
export async function deleteKey(stage: Stage, live: LiveLoad): Promise<void> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ name: 'deleted soon', scopes: ['read', 'write'] });
  const answer = await stage.client.askApp({ method: 'POST', path: '/api/api-keys', headers, body });
  expect(answer.status).toBe(201);
  const { id, api_key: key } = JSON.parse(answer.text) as KeyJson;
  const gateways = stage.cluster.processes('gateway');
  const opened = await Promise.all(gateways.flatMap(({ url }) => Array.from({ length: devicesOfEach }, (_, at) => openWith(key, url, at))));
  const connections = live.connections;
  const beganMs = performance.now();
  expect((await stage.client.askApp({ method: 'DELETE', path: `/api/api-keys/${id}` })).status).toBe(204);
  const closed = await Promise.all(opened.flat().map((socket) => socket.end()));
  const tookMs = performance.now() - beganMs;
  process.stderr.write(`${closed.length} sockets of a deleted key were closed after ${(tookMs / 1000).toFixed(1)} s\n`);
  expect(closed).toEqual(opened.flatMap(() => [1008, 4401, 4401]));
  expect(tookMs).toBeLessThan(deletedMs);
  await live.goesOn();
  expect(live.connections).toBe(connections);
}

/** A device and its two viewers, once the gateway knows the key and the source is online. */
function openWith(key: string, url: string, at: number): Promise<readonly SocketClient[]> {
  const sourceId = `deleted-${new URL(url).port}-${at}`;
  return known(async () => {
    const device = await SocketClient.open(url, '/ws/device');
    device.send({ type: 'device_auth', api_key: key, source_id: sourceId });
    expect(await device.json()).toMatchObject({ type: 'authenticated' });
    const streams = ['metrics', 'logs'].map((what) => `/v1/sources/${sourceId}/${what}/stream`);
    const viewers = await Promise.all(streams.map((path) => SocketClient.open(url, path)));
    for (const viewer of viewers) viewer.send({ type: 'auth', api_key: key });
    return [device, ...viewers];
  });
}

async function tellWhen(what: string, beganMs: number, done: Promise<unknown>): Promise<void> {
  await done;
  process.stderr.write(`${what} after ${((performance.now() - beganMs) / 1000).toFixed(1)} s\n`);
}
