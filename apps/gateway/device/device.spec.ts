import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { setImmediate as turn } from 'node:timers/promises';
import { createHttpApp, InFlight, Organizations } from '#edge';
import type { Entry } from '#log';
import { TelemetryError } from '#model';
import { eventually, makeKey, makeOrganization, MemoryLog, MemoryModule, SocketClient, until, type Frame } from '#testing';
import { points, presence } from '#topics';
import { GatewayModule } from '../gateway.module.js';
import { DeviceConnections, type DeviceConnection, type HandedOver } from './device-connections.js';
import { PresenceLog } from './presence-log.js';

const mib = 1024 * 1024;

/** Appends telemetry only while its gate is open, and counts its appends. */
class GatedLog extends MemoryLog {
  appends = 0;
  #gate: Promise<void> | undefined;
  #open: () => void = () => undefined;

  shut(): void {
    this.#gate = new Promise((resolve) => (this.#open = resolve));
  }

  reopen(): void {
    this.#gate = undefined;
    this.#open();
  }

  override async append(entries: readonly Entry[]): Promise<void> {
    this.appends++;
    if (entries.some(({ topic }) => topic === points)) await this.#gate;
    return super.append(entries);
  }
}

const log = new GatedLog();
const time = { aheadMs: 0 };
let app: NestFastifyApplication;
let url: string;
let inFlight: InFlight;
const keys = { usual: '', slow: '', slower: '', asked: '', coming: '', few: '', paying: '', payingOrg: '' };
const clients: SocketClient[] = [];

beforeAll(async () => {
  const memory = MemoryModule.of(log, Date.now, () => performance.now() + time.aheadMs);
  app = await createHttpApp({ module: class Role {}, imports: [memory, GatewayModule] });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  inFlight = app.get(InFlight);
  const organizations = app.get(Organizations);
  const keyOf = async (limits: Record<string, number>): Promise<string> => {
    const { orgId } = await organizations.create('Any', true, { limits });
    keys.payingOrg = orgId;
    return (await makeKey(log, orgId, ['write'])).secret;
  };
  keys.usual = await keyOf({});
  keys.slow = await keyOf({ points_per_s: 1000 });
  keys.slower = await keyOf({ points_per_s: 1 });
  keys.asked = await keyOf({ requests_per_s: 1 });
  keys.coming = await keyOf({ requests_per_s: 1 });
  keys.few = await keyOf({ series: 2 });
  keys.paying = await keyOf({});
});

afterEach(async () => {
  for (const client of clients.splice(0)) client.socket.terminate();
  await until('nothing is held', () => inFlight.bodyBytes === 0);
});

afterAll(() => app.close());

async function connect(sourceId: string, api_key = keys.usual, more: object = { acks: true }): Promise<SocketClient> {
  const client = await SocketClient.open(url, '/ws/device');
  clients.push(client);
  client.send({ type: 'device_auth', api_key, source_id: sourceId, ...more });
  expect(await client.json()).toMatchObject({ type: 'authenticated' });
  return client;
}

const telemetry = (seq: number, count = 1, metric = 'm'): Frame => ({
  type: 'telemetry',
  seq,
  points: Array.from({ length: count }, (_, at) => ({ metric, value: at, timestamp: 1_700_000_000_000 + at })),
});

/** Reads acknowledgements up to this one, and nothing else. */
async function acknowledged(client: SocketClient, seq: number): Promise<void> {
  for (let last = 0; last < seq;) {
    const frame = await client.json();
    expect(frame['type']).toBe('telemetry_ack');
    last = frame['seq'] as number;
  }
}

describe('a device that is faster than the log', () => {
  afterEach(() => log.reopen());

  it('is not read while frames wait, and nothing it sent is lost', async () => {
    const before = log.values(points).length;
    const [client, other] = [await connect('fast'), await connect('other')];
    log.shut();
    const frames = 3000;
    for (let seq = 1; seq <= frames; seq++) client.send(telemetry(seq, 200));
    await until('frames wait', () => inFlight.bodyBytes > mib / 2);
    // Whatever the server would read, it has had the time to.
    for (let seq = 1; seq <= 1000; seq++) {
      other.send({ type: 'telemetry', seq, points: [] });
      await acknowledged(other, seq);
    }
    expect(client.socket.bufferedAmount).toBeGreaterThan(10 * mib);
    expect(inFlight.bodyBytes).toBeLessThan(3 * mib);
    expect(client.left).toEqual([]);
    log.reopen();
    await acknowledged(client, frames);
    const stored = log.values(points).slice(before);
    expect(stored.reduce((sum, { series }) => sum + series.reduce((all, { value }) => all + value.length, 0), 0)).toBe(200 * frames);
  });

  it('has frames that waited together written together and acknowledged once', async () => {
    const client = await connect('together');
    log.shut();
    const { appends } = log;
    client.send(telemetry(1));
    await until('the first is on its way', () => log.appends > appends);
    for (let seq = 2; seq <= 30; seq++) client.send(telemetry(seq));
    client.send({ type: 'nonsense', seq: 31 });
    await until('the others wait', () => inFlight.bodyBytes > 30 * 300);
    log.reopen();
    const frames = [await client.json(), await client.json(), await client.json()];
    expect(frames).toEqual([
      { type: 'telemetry_ack', seq: 1 },
      { type: 'telemetry_ack', seq: 30 },
      { type: 'error', code: 'INVALID_MESSAGE', detail: expect.any(String), seq: 31 },
    ]);
    expect(log.appends).toBe(appends + 2);
  });

  it('holds what has come of a frame, counted with its organization', async () => {
    const client = await connect('partial');
    const header = Buffer.alloc(14);
    header.writeUInt16BE(0x81ff);
    header.writeBigUInt64BE(BigInt(4 * mib), 2);
    const { _socket: raw } = client.socket as unknown as { _socket: import('node:net').Socket };
    raw.write(Buffer.concat([header, Buffer.alloc(2 * mib)]));
    await until('what came is counted', () => inFlight.bodyBytes > 2 * mib - 200 * 1024);
    expect(inFlight.bodyBytes).toBeLessThan(3 * mib);
    raw.destroy();
    await until('nothing is held', () => inFlight.bodyBytes === 0);
  });
});

describe('a device over a rate', () => {
  it('is slowed down', async () => {
    const client = await connect('slowed', keys.slow);
    const startMs = performance.now();
    for (let seq = 1; seq <= 50; seq++) client.send(telemetry(seq, 240));
    await acknowledged(client, 50);
    client.send(telemetry(51));
    await acknowledged(client, 51);
    // 12,000 points at 1,000 a second, of which those of ten seconds may come at once.
    expect(performance.now() - startMs).toBeGreaterThan(1500);
  });

  it('is told where it would take too long', async () => {
    const client = await connect('refused', keys.slower);
    client.send(telemetry(1, 5000));
    client.send(telemetry(2));
    await acknowledged(client, 1);
    expect(await client.json()).toEqual({
      type: 'error',
      code: 'RATE_LIMITED',
      detail: expect.stringMatching(/go on in [\d,]+ seconds/),
      seq: 2,
    });
  });

  it('pays for what it says of commands', async () => {
    const client = await connect('talkative', keys.asked);
    const status = (seq: number): Frame => ({ type: 'command_status', run_id: 'r', seq, state: 'running' });
    // 10 may come at once, and each of the others takes a second: longer than a frame may wait.
    for (let seq = 1; seq <= 25; seq++) client.send(status(seq));
    client.send(telemetry(1));
    const heard: Frame[] = [];
    for (let frames = 0; frames < 26; frames++) heard.push(await client.json());
    expect(heard.filter(({ type }) => type !== 'command_status_ack')).toMatchObject([{ code: 'RATE_LIMITED', seq: 1 }]);
  });

  it('pays for each connection', async () => {
    const answers: Frame[] = [];
    for (let at = 0; at < 40; at++) {
      const client = await SocketClient.open(url, '/ws/device');
      clients.push(client);
      client.send({ type: 'device_auth', api_key: keys.coming, source_id: `coming-${at}` });
      answers.push(await client.json());
    }
    // 10 may come at once, and as many more as are paid for within ten seconds.
    expect(new Set(answers.slice(0, 20).map(({ type }) => type))).toEqual(new Set(['authenticated']));
    expect(answers.at(-1)).toEqual({ type: 'error', code: 'DEVICE_LIMIT', detail: expect.stringContaining('requests a second') });
  });

  it('is told of names beyond its limit, and goes on with those that are known', async () => {
    const client = await connect('few', keys.few);
    client.send({ type: 'telemetry', seq: 1, points: ['a', 'b'].map((metric) => ({ metric, value: 1 })) });
    client.send({ type: 'telemetry', seq: 2, points: ['a', 'c'].map((metric) => ({ metric, value: 1 })) });
    client.send({ type: 'telemetry', seq: 3, points: ['b'].map((metric) => ({ metric, value: 1 })) });
    await acknowledged(client, 1);
    expect(await client.json()).toMatchObject({ type: 'error', code: 'SOURCE_LIMIT', seq: 2 });
    expect(await client.json()).toEqual({ type: 'telemetry_ack', seq: 3 });
  });
});

it('a device whose organization has no payment method any more is told so', async () => {
  const client = await connect('unpaid', keys.paying);
  await makeOrganization(log, false, keys.payingOrg);
  client.send(telemetry(1));
  expect(await client.json()).toEqual({ type: 'error', message: expect.stringContaining('payment') });
  expect(await client.end()).toBe(1008);
});

describe('a connection', () => {
  it('beyond the 16th of one source is refused with DEVICE_LIMIT and 1013, until another one ends', async () => {
    const sixteen = await Promise.all(Array.from({ length: 16 }, () => connect('crowd')));
    const next = await SocketClient.open(url, '/ws/device');
    clients.push(next);
    next.send({ type: 'device_auth', api_key: keys.usual, source_id: 'crowd' });
    expect(await next.json()).toEqual({ type: 'error', code: 'DEVICE_LIMIT', detail: expect.stringContaining('16 connections') });
    expect(await next.end()).toBe(1013);
    await connect('no-crowd');
    await sixteen[0]!.close();
    await eventually(async () => (await connect('crowd')).close());
  });

  const commandsOf = (count: number, length: number): string[] => Array.from({ length: count }, (_, n) => `${n}`.padEnd(length, '-'));
  const command = (name: string, params: object = {}): HandedOver => ({ id: 'c', command: name, params, ttlMs: 1 });
  const talkOf = (sourceId: string): DeviceConnection => {
    const { connectionId } = log.values(presence).findLast((one) => one?.sourceId === sourceId)!;
    return app.get(DeviceConnections).get(connectionId)!;
  };

  it('keeps 256 names of its manifest, each of at most 128 characters, and what they take is counted', async () => {
    const names = [...commandsOf(10, 129), ...commandsOf(300, 128)];
    const device = await connect('manifest', keys.usual, { protocol: 1, commands: names });
    expect(inFlight.bodyBytes).toBeGreaterThan(40_000);
    expect(inFlight.bodyBytes).toBeLessThan(60_000);
    const types = [];
    for (const name of [names[0]!, names[10]!, names[265]!, names[266]!]) {
      talkOf('manifest').handOver(command(name));
      types.push((await device.json())['type']);
    }
    expect(types).toEqual(['typed_command', 'command_run', 'command_run', 'typed_command']);
  });

  it('of a few commands takes nothing from its organization', async () => {
    await connect('few-commands', keys.usual, { protocol: 1, commands: commandsOf(20, 20) });
    expect(inFlight.bodyBytes).toBe(0);
  });

  it('that does not take its commands is handed no more than 256 KiB beside what the system holds, counted until it takes them', async () => {
    const device = await connect('sleeper');
    device.socket.pause();
    const talk = talkOf('sleeper');
    const large = command('large', { text: 'x'.repeat(60_000) });
    let handed = 0;
    for (; talk.handOver(large); handed++) await turn();
    expect(inFlight.bodyBytes).toBeGreaterThan(200 * 1024);
    expect(inFlight.bodyBytes).toBeLessThan(600 * 1024);
    device.socket.resume();
    while (handed-- > 0) expect(await device.json()).toMatchObject({ type: 'typed_command' });
    await until('nothing is held', () => inFlight.bodyBytes === 0);
  });
});

describe('while the log cannot be written', () => {
  afterEach(() => (log.failure = undefined));

  it('connections end without an acknowledgement, new ones get 503, until it can be written again', async () => {
    const [client, other] = [await connect('outage'), await connect('outage-other')];
    log.failure = new TelemetryError('log_unavailable', 'Away.');
    client.send(telemetry(1));
    expect(await client.json()).toEqual({ type: 'error', code: 'BACKEND_UNAVAILABLE', detail: expect.any(String) });
    expect(await client.end()).toBe(1013);
    await expect(SocketClient.open(url, '/ws/device')).rejects.toThrow('503');
    expect(other.closed).toBeUndefined();
    log.failure = undefined;
    await eventually(async () => (await connect('outage')).close());
    other.send(telemetry(1));
    await acknowledged(other, 1);
    const { connectionId } = log.values(presence).find((one) => one?.sourceId === 'outage')!;
    await until('the connection that ended meanwhile is taken out', () =>
      log.entries.some(({ key, value }) => key.endsWith(connectionId) && value === null),
    );
  });
});

describe('presence', () => {
  const heldBy = (sourceId: string): unknown[] => {
    const newest = new Map(log.entries.filter(({ topic }) => topic === presence).map(({ key, value }) => [key, value]));
    return [...newest.values()].filter((value) => (value as { sourceId: string } | null)?.sourceId === sourceId);
  };

  it('of ten thousand devices that come at once is ten thousand records in a few appends', async () => {
    const presenceLog = app.get(PresenceLog);
    const { appends } = log;
    const all = Array.from({ length: 10_000 }, (_, at) => ({
      orgId: 'o',
      sourceId: `storm-${at}`,
      connectionId: 'c',
      gatewayId: 'g',
      connectedMs: at,
    }));
    await Promise.all(all.map((one) => presenceLog.add(one)));
    expect(log.values(presence).filter((one) => one?.sourceId.startsWith('storm-')).length).toBe(10_000);
    expect(log.appends - appends).toBeLessThanOrEqual(12);
    for (const one of all) presenceLog.remove(one);
    await presenceLog.written();
    expect(log.appends - appends).toBeLessThanOrEqual(24);
  });

  it('of several connections has each its own record, the later one with the later time', async () => {
    const devices = [await connect('twice'), await connect('twice')];
    const [first, second] = heldBy('twice') as { connectedMs: number; gatewayId: string }[];
    expect(second!.connectedMs).toBeGreaterThan(first!.connectedMs);
    await devices[0]!.close();
    await until('one is left', () => heldBy('twice').length === 1);
    expect(heldBy('twice')).toEqual([second]);
  });

  it('ends for all connections of a gateway that has not read a heartbeat of its own for 20 s', async () => {
    const client = await connect('quiet');
    log.isHeldBack = true;
    try {
      time.aheadMs += 20_000;
      expect(await client.json()).toMatchObject({ type: 'error', code: 'BACKEND_UNAVAILABLE' });
      expect(await client.end()).toBe(1013);
      await until('it is taken out', () => heldBy('quiet').length === 0);
      await expect(SocketClient.open(url, '/ws/device')).rejects.toThrow('503');
    } finally {
      log.isHeldBack = false;
    }
    await eventually(async () => (await connect('quiet')).close());
  });
});
