import { describe, expect, it } from '@jest/globals';
import type { DeviceJson, EntryJson, FleetJson, QueryJson } from '../http/client.js';
import { SocketClient, type Frame } from '../http/socket-client.js';
import { known, type Section, type Stage } from './stage.js';

const path = '/ws/device';
const at = Date.UTC(2024, 9, 10);
const window = '&start=2024-10-10T00:00:00Z&end=2024-10-11T00:00:00Z';

async function open(stage: Stage): Promise<SocketClient> {
  const client = await SocketClient.open(stage.urls.ingest, path, { origin: 'https://x.example' });
  stage.live.watch(client.socket, path);
  return client;
}

const login = (stage: Stage, sourceId: string, more: object = {}): Frame => ({
  type: 'device_auth',
  api_key: stage.own.key,
  source_id: sourceId,
  ...more,
});

/** A device that is let in. */
async function connect(stage: Stage, sourceId: string, more: object = {}): Promise<SocketClient> {
  const device = await open(stage);
  device.send(login(stage, sourceId, more));
  expect(await device.json()).toMatchObject({ type: 'authenticated', source_id: sourceId });
  return device;
}

const point = (value: number, timestamp = at): Frame => ({ metric: 'm', value, timestamp });
const telemetry = (seq: number | undefined, ...points: readonly unknown[]): Frame => ({ type: 'telemetry', points, ...(seq && { seq }) });

const isOnline = (stage: Stage, sourceId: string, online: boolean): Promise<DeviceJson> =>
  stage.reads<DeviceJson>(sourceId, '', (device) => expect(device.online).toBe(online));

export const deviceChannel: Section = (stage) => {
  describe('decisions §5.1, §5.2: the first frame', () => {
    it('is answered with authenticated, compact and type first, the time of the server in it', async () => {
      const id = stage().id('login');
      const device = await open(stage());
      device.send(
        login(stage(), id, { platform: 'linux', agent_version: '1', protocol: 1, hears_goodbye: true, commands: ['a'], unknown: [] }),
      );
      const text = await device.text();
      const { server_time_ms: timeMs } = JSON.parse(text) as { server_time_ms: number };
      expect(text).toBe(`{"type":"authenticated","source_id":"${id}","server_time_ms":${timeMs}}`);
      expect(Math.abs(timeMs - Date.now())).toBeLessThan(60_000);
      await device.close();
    });

    it.each([
      [true, true],
      [false, undefined],
      [1, undefined],
      ['true', undefined],
    ])('with acks %j the answer has acks %j', async (acks, expected) => {
      const device = await open(stage());
      device.send(login(stage(), stage().id('acks'), { acks }));
      expect((await device.json())['acks']).toBe(expected);
      await device.close();
    });

    const wrong: readonly (readonly [what: string, frame: (own: Frame) => unknown])[] = [
      ['no JSON', () => '{"type":'],
      ['an array', () => []],
      ['another type', (own) => ({ ...own, type: 'auth' })],
      ['no key', (own) => ({ ...own, api_key: undefined })],
      ['a malformed key', (own) => ({ ...own, api_key: 'nonsense' })],
      ['a key that nobody has', (own) => ({ ...own, api_key: 'hw_000000000000000000000000000000000000cr' })],
      ['a key that is no string', (own) => ({ ...own, api_key: 1 })],
      ['no source_id', (own) => ({ ...own, source_id: undefined })],
      ['a bad source_id', (own) => ({ ...own, source_id: '-a' })],
      ['telemetry', () => telemetry(1, point(1))],
    ];
    it.each(wrong)('%s is refused with one same error, and 1008', async (_, frame) => {
      const device = await open(stage());
      device.send(frame(login(stage(), stage().id('stranger'))));
      expect(await device.text()).toBe(
        '{"type":"error","message":"Send device_auth with a valid API key and a source_id as the first frame, within 10 seconds."}',
      );
      expect(await device.end()).toBe(1008);
    });

    it('that does not come within 10 s is refused likewise', async () => {
      const device = await open(stage());
      expect(await device.json()).toMatchObject({ type: 'error', message: expect.stringContaining('within 10 seconds') });
      expect(await device.end()).toBe(1008);
    });

    it('with a key that lacks write is refused', async () => {
      const { api_key } = await stage().newKey(['read']);
      const device = await open(stage());
      device.send({ ...login(stage(), stage().id('reader')), api_key });
      expect(await device.json()).toEqual({ type: 'error', message: expect.stringContaining('write') });
      expect(await device.end()).toBe(1008);
    });

    it('of more than 64 KiB closes with 1009', async () => {
      const device = await open(stage());
      device.send(login(stage(), stage().id('large'), { unknown: 'x'.repeat(65 * 1024) }));
      expect(await device.end()).toBe(1009);
    });
  });

  describe('decisions §5.3: telemetry is stored as from ingest', () => {
    it('in series and logs, of the source of the connection, whatever a point says', async () => {
      const id = stage().id('telemetry');
      const device = await connect(stage(), id, { acks: true });
      device.send({
        type: 'telemetry',
        seq: 1,
        source_id: 'another',
        points: [
          { ...point(1), tags: { a: 'b' }, source_id: 'another' },
          { ...point(2, at + 1), source_id: '-bad' },
          { ...point(3, at + 2), source_id: 7 },
          { metric: 'e', class: 'event', value: { b: 1, a: [] }, timestamp: at, source_id: 'another' },
        ],
      });
      expect(await device.text()).toBe('{"type":"telemetry_ack","seq":1}');
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(series).toEqual({ m: { timestamp_ms: [at, at + 1, at + 2], value: [1, 2, 3] } }),
      );
      await stage().reads<EntryJson[]>(id, '/logs?tail=9', (entries) =>
        expect(entries).toEqual([{ timestamp_ms: at, metric: 'e', value: '{"b":1,"a":[]}', tags: {} }]),
      );
      expect(await stage().own.json('/v1/sources/another/metrics')).toEqual([]);
      await device.close();
    });

    it('of ten thousand points, in any order of its keys', async () => {
      const id = stage().id('large-telemetry');
      const device = await connect(stage(), id, { acks: true });
      const points = Array.from({ length: 10_000 }, (_, place) => ({ ...point(place, at + place), source_id: 'another' }));
      device.send({ points, seq: 1, type: 'telemetry' });
      device.send({ type: 'telemetry', points, seq: 2 });
      while ((await device.json())['seq'] !== 2);
      await stage().reads<QueryJson>(id, `/metrics/query?interval=1d${window}`, ({ series }) =>
        expect(series['m']?.count).toEqual([10_000]),
      );
      await device.close();
    });

    it('the later of two values of one point wins, as the frames came', async () => {
      const id = stage().id('order');
      const device = await connect(stage(), id, { acks: true });
      for (let seq = 1; seq <= 100; seq++) device.send(telemetry(seq, point(seq)));
      while ((await device.json())['seq'] !== 100);
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(series).toEqual({ m: { timestamp_ms: [at], value: [100] } }),
      );
      await device.close();
    });

    it('of a client that wants no acknowledgements gets none', async () => {
      const id = stage().id('silent');
      const device = await connect(stage(), id);
      device.send(telemetry(1, point(1)));
      device.send({ type: 'heartbeat' });
      device.send({ type: 'pong' });
      device.send({ type: 'telemetry', points: [] });
      device.send({ type: 'nonsense' });
      expect(await device.json()).toMatchObject({ type: 'error', code: 'INVALID_MESSAGE' });
      expect(device.left).toEqual([]);
      await stage().reads<string[]>(id, '/metrics', (names) => expect(names).toEqual(['m']));
      await device.close();
    });
  });

  describe('decisions §5.3: what is no frame of a device is answered, and the connection stays open', () => {
    it.each([
      ['an unknown type', { type: 'nonsense', seq: 1 }, 'INVALID_MESSAGE'],
      ['no type', { seq: 1 }, 'INVALID_MESSAGE'],
      ['another login', { type: 'device_auth', seq: 1 }, 'INVALID_MESSAGE'],
      ['a bad point', telemetry(1, point(1), { metric: '', value: 1 }), 'INVALID_MESSAGE'],
      ['points that are none', { type: 'telemetry', seq: 1, points: {} }, 'INVALID_MESSAGE'],
      ['no points', { type: 'telemetry', seq: 1 }, 'INVALID_MESSAGE'],
      ['too many points', telemetry(1, ...Array.from({ length: 10_001 }, () => point(1))), 'INVALID_MESSAGE'],
      ['JSON that is too deep', `{"type":"telemetry","seq":1,"points":[${'['.repeat(70)}${']'.repeat(70)}]}`, 'INVALID_MESSAGE'],
      ['text that ends early', '{"type":"telemetry","seq":1,"points":[{"metric":', 'INVALID_JSON'],
      ['text with a comma too many', '{"type":"telemetry","seq":1,"points":[],}', 'INVALID_JSON'],
      ['its number first', '{"seq":1,"type":"telemetry","points":[}', 'INVALID_JSON'],
    ])('%s', async (_, frame, code) => {
      const id = stage().id('invalid');
      const device = await connect(stage(), id, { acks: true });
      device.send(frame);
      expect(await device.json()).toEqual({ type: 'error', code, detail: expect.stringMatching(/\S.*[.]/s), seq: 1 });
      device.send(telemetry(2, point(1)));
      expect(await device.json()).toEqual({ type: 'telemetry_ack', seq: 2 });
      await device.close();
    });

    it.each([['nonsense'], ['[1]'], ['{"type":"x","y":{"seq":7}}'], ['{"type":"heartbeat"'], ['']])('%j has no number', async (frame) => {
      const device = await connect(stage(), stage().id('invalid'), { acks: true });
      device.send(frame);
      expect(Object.keys(await device.json())).toEqual(['type', 'code', 'detail']);
      await device.close();
    });

    it.each([
      ['a result without an id', { type: 'command_result', event: 'ack' }],
      ['a result of no event', { type: 'command_result', id: 'a', event: 'done' }],
      ['a status of no state', { type: 'command_status', run_id: 'a', seq: 1, state: 'done' }],
      ['a status without a number', { type: 'command_status', run_id: 'a', state: 'failed' }],
      ['a sync without runs', { type: 'command_sync' }],
    ])('%s: its own numbers are none of a frame', async (_, frame) => {
      const device = await connect(stage(), stage().id('invalid'), { acks: true });
      device.send(frame);
      expect(await device.json()).toEqual({ type: 'error', code: 'INVALID_MESSAGE', detail: expect.any(String) });
      await device.close();
    });

    it('a binary frame closes with 1003, one of more than 5 MiB with 1009', async () => {
      for (const [frame, code] of [
        [Buffer.from('{}'), 1003],
        [`{"type":"telemetry","points":[]${' '.repeat(5 * 1024 * 1024)}}`, 1009],
      ] as const) {
        const device = await connect(stage(), stage().id('closed'));
        device.send(frame);
        expect(await device.end()).toBe(code);
      }
    });
  });

  it('a frame of more than 16 fragments ends the connection, as text does that is not UTF-8', async () => {
    const pieces = await connect(stage(), stage().id('pieces'));
    for (let piece = 0; piece < 20; piece++) pieces.socket.send(' ', { fin: false });
    expect(await pieces.end()).toBe(1008);
    const broken = await connect(stage(), stage().id('broken'));
    broken.socket.send(Buffer.of(0xff, 0xfe), { binary: false });
    expect(await broken.end()).toBe(1007);
  });

  describe('decisions §5.4: acknowledgements', () => {
    it('and errors go out in the order of the frames, and every frame is settled', async () => {
      const device = await connect(stage(), stage().id('settled'), { acks: true });
      const bad = new Set([3, 4, 17, 32]);
      for (let seq = 1; seq <= 32; seq++) device.send(bad.has(seq) ? telemetry(seq, { metric: 'm' }) : telemetry(seq, point(seq)));
      const seen: number[] = [];
      for (let last = 0; last < 32;) {
        const frame = await device.json();
        const seq = frame['seq'] as number;
        expect(seq).toBeGreaterThan(last);
        expect([seq, frame['type']]).toEqual([seq, bad.has(seq) ? 'error' : 'telemetry_ack']);
        if (bad.has(seq)) seen.push(seq);
        last = seq;
      }
      expect(seen).toEqual([...bad]);
      await device.close();
    });

    it('a frame without points is acknowledged too', async () => {
      const device = await connect(stage(), stage().id('no-points'), { acks: true });
      device.send(telemetry(1));
      expect(await device.json()).toEqual({ type: 'telemetry_ack', seq: 1 });
      await device.close();
    });

    it('what comes right behind the first frame is answered behind its answer', async () => {
      const device = await open(stage());
      device.send(login(stage(), stage().id('early'), { acks: true }));
      device.send(telemetry(1, point(1)));
      expect(await device.json()).toMatchObject({ type: 'authenticated' });
      expect(await device.json()).toEqual({ type: 'telemetry_ack', seq: 1 });
      await device.close();
    });
  });

  describe('decisions §5.6: a status of a command is acknowledged', () => {
    it.each(['acknowledged', 'running', 'progress', 'succeeded', 'failed'])('%s', async (state) => {
      const device = await connect(stage(), stage().id('status'), { protocol: 1, commands: ['a'] });
      device.send({ type: 'command_status', run_id: 'run_1', seq: 7, state, error_message: 'x', progress: 0.5 });
      expect(await device.text()).toBe('{"type":"command_status_ack","run_id":"run_1","seq":7}');
      device.send({ type: 'command_sync', runs: [{ run_id: 'run_1', state, seq: 7 }] });
      await device.close();
    });
  });

  describe('decisions §5.7, §5.8 and §3: a source is online from authenticated until its last connection ends', () => {
    it('everywhere, without data and with last_seen_ms null', async () => {
      const id = stage().id('online');
      const device = await connect(stage(), id);
      await isOnline(stage(), id, true);
      expect(await stage().own.json(`/v1/sources/${id}`)).toEqual({ source_id: id, online: true, last_seen_ms: null });
      const listed = async (query: string): Promise<DeviceJson | undefined> => {
        const { devices } = await stage().own.json<{ devices: DeviceJson[] }>(`/v1/sources${query}`);
        return devices.find(({ source_id }) => source_id === id);
      };
      await known(async () => expect((await listed(''))?.online).toBe(true));
      await known(async () => expect((await listed('?status=online'))?.last_seen_ms).toBeNull());
      await known(async () => expect(await listed('?status=offline')).toBeUndefined());
      await stage().hides(id, '');
      await device.close();
      await known(async () => expect((await stage().own.ask({ path: `/v1/sources/${id}` })).status).toBe(404));
      await known(async () => expect(await listed('')).toBeUndefined());
    });

    it('in fleet health and fleet metrics', async () => {
      const id = stage().id('fleet');
      const metric = `fleet.${stage().run}.online`;
      const online = async (): Promise<number> => (await stage().own.json<{ sources_online: number }>('/v1/fleet/health')).sources_online;
      const before = await online();
      const device = await connect(stage(), id, { acks: true });
      device.send(telemetry(1, { metric, value: 1, timestamp: at }));
      await device.json();
      await known(async () => expect(await online()).toBe(before + 1));
      await known(async () => {
        const fleet = await stage().own.json<FleetJson>(`/v1/fleet/metrics?metric=${metric}${window}`);
        expect([fleet.sources_online, fleet.sources.map((source) => source.online)]).toEqual([before + 1, [true]]);
      });
      await device.close();
      await known(async () => expect(await online()).toBe(before));
      await isOnline(stage(), id, false);
    });

    it('while any of several connections lives', async () => {
      const id = stage().id('several');
      const first = await connect(stage(), id, { acks: true });
      const second = await connect(stage(), id, { acks: true });
      for (const device of [first, second]) {
        device.send(telemetry(1, point(1)));
        expect(await device.json()).toEqual({ type: 'telemetry_ack', seq: 1 });
      }
      await second.close();
      first.send(telemetry(2, point(1)));
      expect(await first.json()).toEqual({ type: 'telemetry_ack', seq: 2 });
      await isOnline(stage(), id, true);
      first.socket.terminate();
      await isOnline(stage(), id, false);
    });
  });

  it('decisions §7: a deleted key closes its connections with 1008 within 10 s', async () => {
    const { id: keyId, api_key } = await stage().newKey(['write']);
    const device = await open(stage());
    device.send({ ...login(stage(), stage().id('revoked')), api_key });
    expect(await device.json()).toMatchObject({ type: 'authenticated' });
    const startMs = performance.now();
    expect((await stage().own.askApp({ method: 'DELETE', path: `/api/api-keys/${keyId}` })).status).toBe(204);
    expect(await device.json()).toMatchObject({ type: 'error', message: expect.any(String) });
    expect(await device.end()).toBe(1008);
    expect(performance.now() - startMs).toBeLessThan(10_000);
  });
};
