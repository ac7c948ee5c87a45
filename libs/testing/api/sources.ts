import { describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import { byBytes } from '../exactness/fold.js';
import type { DeviceJson, FleetJson } from '../http/client.js';
import { known, problem, type Section } from './stage.js';

const at = Date.UTC(2024, 7, 8);
const minuteMs = 60_000;
const skewMs = 5000;
type Latest = { readonly metrics: Readonly<Record<string, number>> };
type Devices = { readonly devices: readonly DeviceJson[] };

export const sources: Section = (stage) => {
  describe('§4.5: the distinct names of all metrics that a source ever reported', () => {
    it('whatever their time, each once, of this source only', async () => {
      const [a, b] = [stage().id('names'), stage().id('names-b')];
      const point = (metric: string, timestamp: number) => ({ metric, value: 1, timestamp });
      await stage().own.accepted({
        source_id: a,
        points: [point('y', at), point('x', 1), point('y', Date.now()), point('ä', 4e9), point('Z', at)],
      });
      await stage().own.accepted({ source_id: b, points: [point('of.b', at)] });
      await stage().reads(a, '/metrics', (names) => expect(names).toEqual(['Z', 'x', 'y', 'ä']));
      await stage().reads(b, '/metrics', (names) => expect(names).toEqual(['of.b']));
    });

    it('decisions §4: none for a source that nobody has', async () => {
      expect(await stage().own.json(`/v1/sources/${stage().id('nobody')}/metrics`)).toEqual([]);
    });
  });

  describe('§4.6 and decisions §4: the newest point of each metric with a time in [now − 1 h, now + 10 min]', () => {
    it.each([
      ['a minute ago', [[-1, 1]], 1],
      ['59 minutes ago', [[-59, 1]], 1],
      ['61 minutes ago', [[-61, 1]], undefined],
      ['9 minutes ahead', [[9, 1]], 1],
      ['11 minutes ahead', [[11, 1]], undefined],
      ['years ago', [[-9e6, 1]], undefined],
      [
        'an older one sent later',
        [
          [-1, 1],
          [-2, 2],
        ],
        1,
      ],
      [
        'a newer one sent later',
        [
          [-2, 1],
          [-1, 2],
        ],
        2,
      ],
      [
        'the same time sent later',
        [
          [-2, 1],
          [-2, 2],
        ],
        2,
      ],
      [
        'one too far ahead does not hide it',
        [
          [-2, 1],
          [60, 2],
        ],
        1,
      ],
      [
        'one ahead within 10 minutes does',
        [
          [-2, 1],
          [5, 2],
        ],
        2,
      ],
    ] as const)('%s', async (what, points, expected) => {
      const id = stage().id(`latest-${what.replaceAll(/\W+/g, '-')}`);
      const now = Date.now();
      for (const [minutes, value] of points)
        await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value, timestamp: now + minutes * minuteMs }] });
      await stage().own.accepted({ source_id: id, points: [{ metric: 'now', value: 0, timestamp: now }] });
      await stage().reads<Latest>(id, '/metrics/latest', ({ metrics }) =>
        expect(metrics).toEqual({ now: 0, ...(expected !== undefined && { m: expected }) }),
      );
    });

    it('a source that nobody has has none', async () => {
      expect(await stage().own.json(`/v1/sources/${stage().id('nobody')}/metrics/latest`)).toEqual({ metrics: {} });
    });
  });

  describe('§4.9 and §4.10: devices', () => {
    it('one exists from its first point or event on; last_seen_ms is the newest receive time, whatever the time of the point', async () => {
      for (const [name, point] of [
        ['by-point', { metric: 'm', value: 1, timestamp: at }],
        ['by-event', { metric: 'e', class: 'event', value: 'x', timestamp: Date.UTC(2080, 0, 1) }],
      ] as const) {
        const id = stage().id(name);
        problem(await stage().own.ask({ path: `/v1/sources/${id}` }), 404, 'unknown_source');
        const beforeMs = Date.now() - skewMs;
        await stage().own.accepted({ source_id: id, points: [point] });
        const afterMs = Date.now() + skewMs;
        const { last_seen_ms: seenMs } = await stage().reads<DeviceJson>(id, '', (device) =>
          expect(device).toEqual({ source_id: id, online: false, last_seen_ms: expect.any(Number) }),
        );
        expect(seenMs).toBeGreaterThanOrEqual(beforeMs);
        expect(seenMs).toBeLessThanOrEqual(afterMs);
        await eventually(async () => {
          const { devices } = await stage().own.json<Devices>('/v1/sources');
          expect(devices.find(({ source_id }) => source_id === id)).toEqual({ source_id: id, online: false, last_seen_ms: seenMs });
        });
      }
    });

    it('last_seen_ms grows when it sends again', async () => {
      const id = stage().id('seen-again');
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, timestamp: at }] });
      const first = await stage().reads<DeviceJson>(id, '', (device) => expect(device.last_seen_ms).not.toBeNull());
      while (Date.now() <= first.last_seen_ms! + 1) await stage().own.json('/v1/sources?status=online');
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, timestamp: at }] });
      await stage().reads<DeviceJson>(id, '', (device) => expect(device.last_seen_ms).toBeGreaterThan(first.last_seen_ms!));
    });

    it('a body without points makes none', async () => {
      const id = stage().id('empty-body');
      await stage().own.accepted({ source_id: id, points: [] });
      await stage().caughtUp(stage().id('empty-body-after'));
      problem(await stage().own.ask({ path: `/v1/sources/${id}` }), 404, 'unknown_source');
    });

    it('the list is sorted by source_id; status filters it; HTTP ingest alone does not make a source online', async () => {
      const ids = ['b', 'a', 'A', '9', 'a.b', 'a-b', 'a:b'].map((name) => `${name}.listed.${stage().run}`);
      await stage().own.accepted({ points: ids.map((source_id) => ({ source_id, metric: 'm', value: 1, timestamp: at })) });
      await known(async () => {
        const { devices } = await stage().own.json<Devices>('/v1/sources');
        const listed = devices.map(({ source_id }) => source_id);
        expect(listed).toEqual(listed.toSorted(byBytes));
        expect(listed).toEqual(expect.arrayContaining(ids));
      });
      const withStatus = async (status: string): Promise<readonly DeviceJson[]> =>
        (await stage().own.json<Devices>(`/v1/sources?status=${status}`)).devices;
      const offline = await withStatus('offline');
      expect(offline.map(({ source_id }) => source_id)).toEqual(expect.arrayContaining(ids));
      expect(offline.every(({ online }) => !online)).toBe(true);
      const online = await withStatus('online');
      expect(online.filter((device) => !device.online || ids.includes(device.source_id))).toEqual([]);
    });

    it.each(['', 'away', 'ONLINE', 'online,offline', '1'])('status="%s" is 400', async (status) => {
      problem(await stage().own.ask({ path: `/v1/sources?status=${status}` }), 400, 'invalid_parameter');
    });
  });

  describe('§4.3: fleet health counts the sources', () => {
    it('sources_total is the number of devices, and grows with a new one', async () => {
      const health = async (): Promise<{ sources_total: number; sources_online: number }> => stage().own.json('/v1/fleet/health');
      await eventually(async () => {
        const { devices } = await stage().own.json<Devices>('/v1/sources');
        expect(await health()).toEqual({ sources_total: devices.length, sources_online: devices.filter(({ online }) => online).length });
      });
      const before = await health();
      await stage().own.accepted({ source_id: stage().id('counted'), points: [{ metric: 'm', value: 1, timestamp: at }] });
      await eventually(async () => expect((await health()).sources_total).toBeGreaterThan(before.sources_total));
    });
  });

  describe('§4.4: one metric of all devices', () => {
    it('one element per device that reported it in the window, sorted, in parallel arrays', async () => {
      const metric = `fleet.${stage().run}`;
      const [b, a, out] = ['fleet-b', 'fleet-a', 'fleet-out'].map((name) => stage().id(name));
      const point = (source_id: string, value: number, timestamp: number) => ({ source_id, metric, value, timestamp });
      await stage().own.accepted({
        points: [
          point(b!, 1, at),
          point(b!, 3, at + 1),
          point(b!, 5, at + 3 * minuteMs),
          point(a!, 7, at + 2 * minuteMs),
          point(out!, 9, at + 60 * minuteMs),
        ],
      });
      await stage().caughtUp(b!);
      await eventually(async () => {
        const answer = await stage().own.json<FleetJson>(
          `/v1/fleet/metrics?metric=${metric}&start=2024-08-08T00:00:00Z&end=2024-08-08T01:00:00Z`,
        );
        expect(answer).toEqual({
          metric,
          interval: '1m',
          sources_online: expect.any(Number),
          sources_w_metric: 2,
          sources: [
            { source_id: a, online: false, timestamp_ms: [at + 2 * minuteMs], avg: [7], min: [7], max: [7], count: [1] },
            { source_id: b, online: false, timestamp_ms: [at, at + 3 * minuteMs], avg: [2, 5], min: [1, 5], max: [3, 5], count: [2, 1] },
          ],
          truncated: false,
        });
      });
    });

    it.each([
      ['without metric', ''],
      ['metric empty', 'metric='],
      ['metric with a NUL', 'metric=%00'],
      ['metric of 257 bytes', `metric=${'x'.repeat(257)}`],
    ])('%s is 400', async (_, parameters) => {
      problem(await stage().own.ask({ path: `/v1/fleet/metrics?${parameters}` }), 400, 'invalid_metric');
    });

    it('a metric that nobody sent has no sources', async () => {
      const metric = `nobody.${stage().run}`;
      expect(await stage().own.json(`/v1/fleet/metrics?metric=${metric}`)).toEqual({
        metric,
        interval: '1m',
        sources_online: expect.any(Number),
        sources_w_metric: 0,
        sources: [],
        truncated: false,
      });
    });
  });
};
