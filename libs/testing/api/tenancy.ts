import { beforeAll, describe, expect } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { DeviceJson, FleetJson, QueryJson } from '../http/client.js';
import { bytesOf, itWith, type Section } from './stage.js';

const at = Date.UTC(2024, 8, 9);
const window = 'start=2024-09-09T00:00:00Z&end=2024-09-10T00:00:00Z';

/** Every read of one source. The other sections try each of their reads with the other's key too. */
const reads = [
  '',
  '/metrics',
  '/metrics/latest',
  '/metrics/query',
  `/metrics/query?${window}`,
  `/metrics/query?${window}&interval=raw`,
  `/metrics/query?${window}&interval=1d&metrics=secret`,
  '/metrics/query?last=5m',
  '/logs',
  `/logs?${window}`,
  '/logs?tail=10',
  '/logs?tail=10&name=secret',
];

export const tenancy: Section = (stage) => {
  const row = itWith('OTHER_API_KEY');

  describe('decisions §2: an id of another organization answers as one that nobody has (needs OTHER_API_KEY)', () => {
    const id = (): string => stage().id('tenant-own');
    const canary = (): string => `canary-${stage().run}`;
    beforeAll(async () => {
      const point = { metric: 'secret', timestamp: at, tags: { canary: canary() } };
      const points = [
        { ...point, value: 12_345.678 },
        { ...point, value: canary(), class: 'event' },
        { ...point, value: 5, timestamp: Date.now(), metric: canary() },
      ];
      await stage().own.accepted({ source_id: id(), points });
      await stage().caughtUp(id());
    });

    row.each(reads)('GET /v1/sources/<id>%s', async (path) => {
      // The owner reads first: an answer that sits in a cache must not reach the other.
      const owner = await stage().own.ask({ path: `/v1/sources/${id()}${path}` });
      expect(owner.status).toBe(200);
      await stage().hides(id(), path);
      const foreign = await stage().other.ask({ path: `/v1/sources/${id()}${path}` });
      expect(foreign.text).not.toContain(canary());
      expect(foreign.status).toBe(path === '' ? 404 : 200);
    });

    row('lists and fleets hold nothing of another', async () => {
      for (const path of ['/v1/sources', '/v1/sources?status=offline', '/v1/fleet/health']) {
        expect((await stage().other.ask({ path })).text).not.toContain(id());
      }
      const fleet = (metric: string): Promise<FleetJson> => stage().other.json(`/v1/fleet/metrics?metric=${metric}`);
      const nobodys = `nobody-${stage().run}`;
      expect({ ...(await fleet(canary())), metric: '' }).toEqual({ ...(await fleet(nobodys)), metric: '' });
    });

    row('a method or a path below it is refused alike', async () => {
      for (const [method, path] of [
        ['POST', ''],
        ['GET', '/nothing'],
        ['DELETE', '/logs'],
      ] as const) {
        const ask = (source: string) => stage().other.ask({ method, path: `/v1/sources/${source}${path}` });
        expect(bytesOf(await ask(id()))).toEqual(bytesOf(await ask(`n${id().slice(1)}`)));
      }
    });
  });

  describe('two organizations use the same names and never meet (needs OTHER_API_KEY)', () => {
    const shared = (): string => stage().id('tenant-shared');
    const metric = (): string => `shared.${stage().run}`;
    beforeAll(async () => {
      for (const [client, value] of [
        [stage().own, 1],
        [stage().other, 2],
      ] as const) {
        const point = { metric: metric(), timestamp: at };
        await client.accepted({
          source_id: shared(),
          points: [
            { ...point, value },
            { ...point, value: `event ${value}`, class: 'event' },
          ],
        });
      }
    });

    row.each([
      ['own', 1],
      ['other', 2],
    ] as const)('%s reads its own', async (who, value) => {
      const client = stage()[who];
      const path = `/v1/sources/${shared()}`;
      await eventually(async () => {
        const { series } = await client.json<QueryJson>(`${path}/metrics/query?${window}&interval=raw`);
        expect(series).toEqual({ [metric()]: { timestamp_ms: [at], value: [value] } });
        const hours = await client.json<QueryJson>(`${path}/metrics/query?${window}&interval=1h`);
        expect(hours.series[metric()]).toMatchObject({ avg: [value], count: [1] });
        expect(await client.json(`${path}/logs?tail=10`)).toMatchObject([{ value: `event ${value}` }]);
        const fleet = await client.json<FleetJson>(`/v1/fleet/metrics?metric=${metric()}&${window}`);
        expect(fleet.sources).toMatchObject([{ source_id: shared(), avg: [value], count: [1] }]);
        expect((await client.json<DeviceJson>(path)).source_id).toBe(shared());
      });
    });
  });
};
