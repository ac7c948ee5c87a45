import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { ApiClient, DeviceJson, FleetJson } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { SocketClient } from '../http/socket-client.js';
import { EventStream, SocketStream, type StreamClient } from '../http/stream-client.js';
import { bytesOf, known, problem, type Section } from './stage.js';

const json = { 'content-type': 'application/json' };
const at = Date.UTC(2025, 2, 4);
const window = 'start=2025-03-04T00:00:00Z&end=2025-03-05T00:00:00Z';

/** Every read of one source. */
const reads = [
  '',
  '/metrics',
  '/metrics/latest',
  '/metrics/query',
  `/metrics/query?${window}&interval=raw`,
  `/metrics/query?${window}&interval=1h`,
  '/logs?tail=10',
  `/logs?${window}`,
];

export const boundKeys: Section = (stage) => {
  describe('a key that is bound to sources', () => {
    const id = (name: string): string => stage().id(name);
    /** Of the key, and then of others: each begins as one of the key does. */
    const own = (): string[] => [id('bound-a.1'), id('bound-a.2'), id('bound-press')];
    const others = (): string[] => [`bound-a-${stage().run}`, `${id('bound-press')}0`, id('bound-b.1')];
    const metric = (): string => `bound.${stage().run}`;
    let bound: ApiClient;
    let device: SocketClient;
    const point = (sourceId: string, more: object = {}): object => ({
      source_id: sourceId,
      metric: metric(),
      value: 1,
      timestamp: at,
      ...more,
    });
    const makeKey = (body: object): Promise<Answer> =>
      stage().own.askApp({ method: 'POST', path: '/api/api-keys', headers: json, body: JSON.stringify({ name: 'bound', ...body }) });
    const login = async (key: string, sourceId: string): Promise<SocketClient> => {
      const client = await SocketClient.open(stage().urls.ingest, '/ws/device');
      client.send({ type: 'device_auth', api_key: key, source_id: sourceId });
      return client;
    };
    const hidesAsNobodys = async (path: string, ask: (path: string) => Promise<Answer>): Promise<Answer> => {
      const [foreign, nobodys] = await Promise.all([`${id('bound-b.1')}${path}`, `${id('bound-c.1')}${path}`].map(ask));
      expect(bytesOf(foreign!)).toEqual(bytesOf(nobodys!));
      return foreign!;
    };

    beforeAll(async () => {
      const sources = [`bound-a.*`, id('bound-press'), id('bound-silent')];
      bound = stage().client((await stage().newKey(['write'], stage().own, sources)).api_key);
      const points = [...own(), ...others()].flatMap((sourceId) => [
        point(sourceId),
        point(sourceId, { timestamp: Date.now() }),
        point(sourceId, { class: 'event', value: 'secret' }),
      ]);
      await stage().own.accepted({ points });
      device = await login(stage().own.key, id('bound-b.1'));
      expect(await device.json()).toMatchObject({ type: 'authenticated' });
      for (const sourceId of [...own(), ...others()]) await stage().caughtUp(sourceId);
    }, 60_000);
    afterAll(() => device.close());

    it('sends for them', async () => {
      const answer = await bound.ingest({ source_id: own()[0], points: [{ metric: 'sent', value: 1 }, point(own()[2]!)] });
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { success: true, count: 2 }]);
    });

    it.each([
      ['a point', (foreign: string) => ({ points: [point(own()[0]!), point(foreign)] })],
      ['an event', (foreign: string) => ({ source_id: own()[0], points: [point(foreign, { class: 'event', value: 'x' })] })],
      ['the body', (foreign: string) => ({ source_id: foreign, points: [{ metric: 'm', value: 1 }] })],
      ['a body without points', (foreign: string) => ({ source_id: foreign, points: [] })],
    ])('sends nothing of a body where %s is of another one: 403, after 400', async (_, bodyOf) => {
      for (const foreign of others()) {
        const body = bodyOf(foreign);
        problem(await bound.ingest(body), 403, 'foreign_source');
        problem(await bound.ingest({ ...body, points: [...body.points, point(foreign, { metric: '' })] }), 400, 'invalid_points');
      }
      const fresh = id('bound-a.refused');
      problem(await bound.ingest({ points: [point(fresh), point(id('bound-b.1'))] }), 403, 'foreign_source');
      expect((await bound.ask({ path: `/v1/sources/${fresh}` })).status).toBe(404);
    });

    it.each(reads)('reads GET /v1/sources/<id>%s of its own, and of another one as if nobody had it', async (path) => {
      for (const sourceId of own()) expect((await bound.ask({ path: `/v1/sources/${sourceId}${path}` })).status).toBe(200);
      const foreign = await hidesAsNobodys(path, (source) => bound.ask({ path: `/v1/sources/${source}` }));
      expect([foreign.status, foreign.text.includes(metric())]).toEqual([path === '' ? 404 : 200, false]);
    });

    it('lists and counts only its own, page by page too', async () => {
      const { run } = stage();
      const list = (query = ''): Promise<{ devices: DeviceJson[]; truncated?: boolean }> => bound.json(`/v1/sources${query}`);
      const ids = async (query = ''): Promise<string[]> => (await list(query)).devices.map(({ source_id: sourceId }) => sourceId);
      const mine = async (): Promise<string[]> => (await ids()).filter((sourceId) => sourceId.endsWith(run));
      await known(async () => expect(await mine()).toEqual(own()));
      const all = await ids();
      expect(all.filter((sourceId) => !sourceId.startsWith('bound-a.'))).toEqual([id('bound-press')]);
      const paged: string[] = [];
      for (let more = true; more;) {
        const page = await list(`?limit=1${paged.length > 0 ? `&after=${paged.at(-1)}` : ''}`);
        paged.push(...page.devices.map(({ source_id: sourceId }) => sourceId));
        more = page.truncated!;
      }
      expect(paged).toEqual(all);
      expect(await bound.json('/v1/fleet/health')).toEqual({ sources_total: all.length, sources_online: 0 });
      expect(await ids('?status=online')).toEqual([]);
    });

    it('has a fleet of its own, cut after its own rows', async () => {
      const fleet = await bound.json<FleetJson>(`/v1/fleet/metrics?metric=${metric()}&${window}`);
      expect(fleet).toMatchObject({ sources_online: 0, sources_w_metric: 3, truncated: false });
      expect(fleet.sources.map(({ source_id: sourceId }) => sourceId)).toEqual(own());
    });

    it('counts a device of its own that is online and has sent nothing, and none of another', async () => {
      const silent = await login(bound.key, id('bound-silent'));
      expect(await silent.json()).toMatchObject({ type: 'authenticated' });
      await known(async () => {
        expect(await bound.json('/v1/fleet/health')).toMatchObject({ sources_online: 1 });
        const { devices } = await bound.json<{ devices: DeviceJson[] }>('/v1/sources?status=online');
        expect(devices).toEqual([{ source_id: id('bound-silent'), online: true, last_seen_ms: null }]);
      });
      await silent.close();
    });

    it('sends no command to another device, as to one that nobody has', async () => {
      const ask = { method: 'POST', headers: json, body: '{"command":"reboot"}' } as const;
      const answer = await hidesAsNobodys('/commands', (source) => bound.ask({ ...ask, path: `/v1/sources/${source}` }));
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { queued: false }]);
    });

    it('connects no other device', async () => {
      const foreign = await login(bound.key, id('bound-b.1'));
      expect(await foreign.json()).toEqual({ type: 'error', message: expect.stringContaining(id('bound-b.1')) });
      expect(await foreign.end()).toBe(1008);
    });

    it.each(['WebSocket', 'text/event-stream'])('watches its own live, and another one stays silent: %s', async (how) => {
      const { api } = stage().urls;
      const open = (sourceId: string): Promise<StreamClient> => {
        const path = `/v1/sources/${sourceId}/metrics/stream`;
        return how === 'WebSocket' ? SocketStream.open(api, path, { key: bound.key }) : EventStream.open(api, path, { key: bound.key });
      };
      const [foreign, mine] = [await open(id('bound-b.1')), await open(own()[0]!)];
      await eventually(async () => {
        await stage().own.accepted({ points: [point(id('bound-b.1')), point(own()[0]!)] });
        expect(mine.points.length).toBeGreaterThan(2);
      });
      expect(foreign.points).toEqual([]);
      for (const client of [foreign, mine]) client.cut();
    });

    it('is listed with them and who made it, and says so itself', async () => {
      const made = await makeKey({ sources: ['line-a.*', 'press-7'] });
      const { id: keyId, ...key } = JSON.parse(made.text) as Record<string, unknown>;
      expect([made.status, key]).toEqual([201, expect.objectContaining({ scopes: ['write'], sources: ['line-a.*', 'press-7'] })]);
      await known(async () => {
        const listed = JSON.parse((await stage().own.askApp({ path: '/api/api-keys' })).text) as Record<string, unknown>[];
        const first = listed.find(({ suffix }) => suffix === stage().own.key.slice(-4))!;
        expect(first['sources']).toEqual(['*']);
        expect(listed.find((one) => one['id'] === keyId)).toMatchObject({ sources: ['line-a.*', 'press-7'], created_by: first['id'] });
        const verified = await stage().client(String(key['api_key'])).askApp({ path: '/api/auth/verify-key' });
        expect(JSON.parse(verified.text)).toMatchObject({ sources: ['line-a.*', 'press-7'] });
      });
    });

    it.each([
      ['none', []],
      ['a text', 'press-7'],
      ['a star inside', ['a*b']],
      ['no id', ['/']],
      ['too many', Array.from({ length: 17 }, (_, one) => `s${one}`)],
      ['one that is too long', ['a'.repeat(257)]],
    ])('is not made for %s: 400', async (_, sources) => {
      problem(await makeKey({ sources }), 400, 'invalid_body');
    });

    it('does not manage keys: it could make one for all sources', async () => {
      problem(await makeKey({ sources: ['a*'], scopes: ['write', 'admin'] }), 400, 'invalid_body');
    });
  });
};
