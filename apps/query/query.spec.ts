import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { createHttpApp, Organizations } from '#edge';
import { entry, tombstone } from '#log';
import { TelemetryError, type LogEntry, type SeriesRun } from '#model';
import { type BucketColumns, GENERATIONS, onlyGeneration, type EventStore, type SeriesStore, type Stores } from '#stores';
import { makeKey, MemoryLog, MemoryModule } from '#testing';
import { gateways, presence, sources } from '#topics';
import { QueryModule } from './query.module.js';

const nowMs = Date.UTC(2026, 0, 31, 12, 0, 30);
const minute = 60_000;
const series = (metric: string, points: readonly (readonly [timestampMs: number, value: number])[]): SeriesRun => ({
  metric,
  tags: '',
  timestampMs: Float64Array.from(points, ([timestampMs]) => timestampMs),
  value: Float64Array.from(points, ([, value]) => value),
});
const columnsOf = (rows: readonly number[]): BucketColumns =>
  Object.fromEntries(
    ['timestampMs', 'min', 'max', 'avg', 'count'].map((name, at) => [name, Float64Array.from(rows, (row) => at + row)]),
  ) as unknown as BucketColumns;
const columns = columnsOf([0, 0.5]);
const threeRows = columnsOf([0, 0.5, 0.25]);

/** Answers everything with one series of two rows for one source, and keeps what it was asked. */
class FixedStore implements Partial<SeriesStore>, Partial<EventStore> {
  asked: unknown;
  failure: Error | undefined;
  truncated = false;

  #answer<T>(asked: unknown, mine: boolean, answer: T, other: T): Promise<T> {
    this.asked = asked;
    return this.failure ? Promise.reject(this.failure) : Promise.resolve(mine ? answer : other);
  }

  readonly #knows = (orgId: string, sourceId: string): boolean => orgId === orgs.paid && sourceId === 'pump';

  metricNames: SeriesStore['metricNames'] = (orgId, sourceId) =>
    this.#answer('names', this.#knows(orgId, sourceId), ['__proto__', 'a'], []);
  latest: SeriesStore['latest'] = (orgId, sourceId, window) =>
    this.#answer(window, this.#knows(orgId, sourceId), [['a', 1.5] as const, ['__proto__', -0] as const], []);
  raw: SeriesStore['raw'] = ({ orgId, sourceId, ...rest }) =>
    this.#answer(
      rest,
      this.#knows(orgId, sourceId),
      { series: [series('__proto__', [[1, 2.5]]), series('"ü', [])], truncated: this.truncated },
      { series: [], truncated: false },
    );
  buckets: SeriesStore['buckets'] = ({ orgId, sourceId, ...rest }) =>
    this.#answer(
      rest,
      this.#knows(orgId, sourceId),
      { series: [{ metric: 'a', ...columns }], truncated: this.truncated },
      { series: [], truncated: false },
    );
  fleet: SeriesStore['fleet'] = ({ orgId, ...rest }) =>
    this.#answer(
      rest,
      orgId === orgs.paid,
      {
        sources: [
          { sourceId: 'pump', rows: 2 },
          { sourceId: '"ü', rows: 0 },
          { sourceId: 'shy', rows: 1 },
        ],
        columns: threeRows,
        truncated: this.truncated,
      },
      { sources: [], columns: columnsOf([]), truncated: false },
    );
  window: EventStore['window'] = (orgId, sourceId, ...rest) => this.#answer(rest, this.#knows(orgId, sourceId), logEntries, []);
  tail: EventStore['tail'] = (orgId, sourceId, ...rest) => this.#answer(rest, this.#knows(orgId, sourceId), logEntries, []);
}

const logEntries: readonly LogEntry[] = [{ timestampMs: 5, metric: 'door', value: '{"open":true}', tags: {} }];
const log = new MemoryLog();
const store = new FixedStore();
const generations = onlyGeneration({ series: store, events: store } as unknown as Stores);
const orgs = { paid: '', other: '' };
const keys = { paid: '', other: '', unpaid: '' };
let monotonicMs = 0;
let app: NestFastifyApplication;
let url: string;

beforeAll(async () => {
  const provided = [{ provide: GENERATIONS, useValue: generations }];
  const stores = { module: class Stores {}, global: true, providers: provided, exports: provided };
  app = await createHttpApp({
    module: class Role {},
    imports: [
      MemoryModule.of(
        log,
        () => nowMs,
        () => monotonicMs,
      ),
      stores,
      QueryModule,
    ],
  });
  await app.listen(0, '127.0.0.1');
  url = await app.getUrl();
  const organizations = app.get(Organizations);
  orgs.paid = (await organizations.create('Paid', true)).orgId;
  orgs.other = (await organizations.create('Other', true)).orgId;
  keys.paid = (await makeKey(log, orgs.paid, ['write'])).secret;
  keys.other = (await makeKey(log, orgs.other, ['read'])).secret;
  const unpaid = await organizations.create('Unpaid', false);
  keys.unpaid = (await makeKey(log, unpaid.orgId, ['read', 'write', 'admin'])).secret;
  await log.append(
    ['pump', 'fan'].map((sourceId) => entry(sources, { orgId: orgs.paid, sourceId, firstReceivedMs: 1, lastReceivedMs: 7 })),
  );
});

afterAll(() => app.close());

interface Got {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

async function get(path: string, key: string | undefined = keys.paid, init: RequestInit = {}): Promise<Got> {
  const answer = await fetch(url + path, { redirect: 'manual', ...init, headers: { ...(key && { 'x-api-key': key }) } });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

const json = async (path: string): Promise<unknown> => JSON.parse((await get(path)).text);

describe('a deletion', () => {
  const paths = [
    ['of a source', '/v1/sources/pump', { metric: null }],
    ['of a metric', '/v1/sources/pump/metrics/a%2Fb%20%C3%BC', { metric: 'a/b ü' }],
  ] as const;
  it.each(paths)('%s needs the scope admin', async (_, path, __) => {
    const answer = await get(path, keys.paid, { method: 'DELETE' });
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([403, { code: 'missing_scope' }]);
  });

  it.each(paths)('%s is a record in both topics, and one for the audit log', async (_, path, deleted) => {
    const before = log.entries.length;
    const { secret, key } = await makeKey(log, orgs.paid, ['admin']);
    const { status, text } = await get(path, secret, { method: 'DELETE' });
    expect([status, text]).toEqual([204, '']);
    const head = { orgId: orgs.paid, sourceId: 'pump', receivedMs: nowMs, deleted };
    expect(
      log.entries
        .slice(before)
        .map(({ topic, value }) => [topic.name, value])
        .slice(-3),
    ).toMatchObject([
      ['telemetry.points.v1', { ...head, series: [] }],
      ['telemetry.events.v1', { ...head, origin: 'service', events: [] }],
      ['audit.v1', { orgId: orgs.paid, about: 'pump', by: { id: key.keyId } }],
    ]);
  });

  it.each([
    ['a source that nobody has heard of', '/v1/sources/nobody', 404, 'unknown_source'],
    ['a metric of such a source', '/v1/sources/nobody/metrics/a', 404, 'unknown_source'],
    ['what is no id', '/v1/sources/-', 400, 'invalid_source_id'],
    ['what is no metric', '/v1/sources/pump/metrics/%00', 400, 'invalid_metric'],
  ])('of %s is refused, and nothing is written', async (_, path, status, code) => {
    const { secret } = await makeKey(log, orgs.other, ['admin']);
    const before = log.entries.length;
    const answer = await get(path.replace('pump', 'fan'), secret, { method: 'DELETE' });
    expect([answer.status, JSON.parse(answer.text), log.entries.length]).toMatchObject([status, { code }, before]);
  });
});

describe('answers', () => {
  it.each([
    ['/v1/sources/pump/metrics', '["__proto__","a"]'],
    ['/v1/sources/pump/metrics/latest', '{"metrics":{"a":1.5,"__proto__":0}}'],
    [
      '/v1/sources/pump/metrics/query?last=9m',
      '{"interval":"raw","auto_downsampled":false,"series":{"__proto__":{"timestamp_ms":[1],"value":[2.5]},"\\"ü":{"timestamp_ms":[],"value":[]}},"truncated":false}',
    ],
    [
      '/v1/sources/pump/metrics/query?last=10m',
      '{"interval":"1m","auto_downsampled":true,"series":{"a":{"timestamp_ms":[0,0.5],"min":[1,1.5],"max":[2,2.5],"avg":[3,3.5],"count":[4,4.5]}},"truncated":false}',
    ],
    ['/v1/sources/pump/logs', '[{"timestamp_ms":5,"metric":"door","value":"{\\"open\\":true}","tags":{}}]'],
    [
      '/v1/fleet/metrics?metric=a&last=1m',
      '{"metric":"a","interval":"1m","sources_online":0,"sources_w_metric":3,"sources":[' +
        '{"source_id":"pump","online":false,"timestamp_ms":[0,0.5],"avg":[3,3.5],"min":[1,1.5],"max":[2,2.5],"count":[4,4.5]},' +
        '{"source_id":"\\"ü","online":false,"timestamp_ms":[],"avg":[],"min":[],"max":[],"count":[]},' +
        '{"source_id":"shy","online":false,"timestamp_ms":[0.25],"avg":[3.25],"min":[1.25],"max":[2.25],"count":[4.25]}' +
        '],"truncated":false}',
    ],
    ['/v1/fleet/health', '{"sources_total":2,"sources_online":0}'],
    [
      '/v1/sources',
      '{"devices":[{"source_id":"fan","online":false,"last_seen_ms":7},{"source_id":"pump","online":false,"last_seen_ms":7}]}',
    ],
    ['/v1/sources?status=online', '{"devices":[]}'],
    ['/v1/sources?limit=1', '{"devices":[{"source_id":"fan","online":false,"last_seen_ms":7}],"truncated":true}'],
    ['/v1/sources?limit=1&after=fan', '{"devices":[{"source_id":"pump","online":false,"last_seen_ms":7}],"truncated":false}'],
    ['/v1/sources?after=pump', '{"devices":[]}'],
    ['/v1/sources?limit=2&status=online', '{"devices":[],"truncated":false}'],
    ['/v1/sources/pump/metrics?limit=1', '["__proto__"]'],
    ['/v1/sources/pump/metrics?after=__proto__&limit=1', '["a"]'],
    ['/v1/sources/pump/metrics?after=b', '[]'],
    ['/v1/sources/pump', '{"source_id":"pump","online":false,"last_seen_ms":7}'],
  ])('%s', async (path, body) => {
    const { status, text, headers } = await get(path);
    expect([status, text]).toEqual([200, body]);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toBe('no-store');
    const head = await get(path, keys.paid, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('content-length')]).toEqual([200, '', headers.get('content-length')]);
  });

  it.each([
    ['&last=1h', '1m'],
    ['&last=30d', '1h'],
    ['&last=30d&interval=1d', '1d'],
    ['&last=1h&interval=10m', '10m'],
  ])('one metric of the fleet, asked with %s, is in buckets of %s', async (rest, interval) => {
    expect(await json(`/v1/fleet/metrics?metric=a${rest}`)).toMatchObject({ interval });
  });

  it('say truncated when the store does', async () => {
    store.truncated = true;
    expect(await json('/v1/sources/pump/metrics/query?last=5m')).toMatchObject({ truncated: true });
    expect(await json('/v1/sources/pump/metrics/query?last=1h')).toMatchObject({ truncated: true });
    expect(await json('/v1/fleet/metrics?metric=a')).toMatchObject({ truncated: true });
    store.truncated = false;
  });
});

describe('an unknown source and one of another organization answer alike', () => {
  it.each([
    ['', 404, '"code":"unknown_source"'],
    ['/metrics', 200, '[]'],
    ['/metrics/latest', 200, '{"metrics":{}}'],
    ['/metrics/query?last=5m', 200, '{"interval":"raw","auto_downsampled":false,"series":{},"truncated":false}'],
    ['/metrics/query?last=7d', 200, '{"interval":"10m","auto_downsampled":true,"series":{},"truncated":false}'],
    ['/logs', 200, '[]'],
    ['/logs?tail=1', 200, '[]'],
  ])('/v1/sources/…%s', async (path, status, body) => {
    const bare = (text: string): string => text.replace(/"request_id":"\w+"/, '');
    const foreign = await get(`/v1/sources/pump${path}`, keys.other);
    const unknown = await get(`/v1/sources/nobody${path}`, keys.paid);
    expect([foreign.status, unknown.status]).toEqual([status, status]);
    expect(bare(foreign.text)).toBe(bare(unknown.text));
    expect(foreign.text).toContain(body);
  });
});

describe('what the store is asked', () => {
  const day = Date.UTC(2026, 0, 30);
  it.each([
    ['/v1/sources/pump/metrics/latest', { startMs: nowMs - 60 * minute, endMs: nowMs + 10 * minute + 1 }],
    [
      '/v1/sources/pump/metrics/query?start=2026-01-30&end=2026-01-30T02:05:00%2B02:00&metrics=b,c%5C%2Cd,b%2C&interval=raw',
      { metrics: ['b', 'c,d'], window: { startMs: day, endMs: day + 5 * minute }, limit: 10_000 },
    ],
    [
      '/v1/sources/pump/metrics/query?start=2026-01-30T01:00:00+01:00&end=2026-01-31&interval=1d&metrics=a+b&metrics=c',
      { metrics: ['a b', 'c'], window: { startMs: day, endMs: day + 1440 * minute }, limit: 10_000, interval: '1d' },
    ],
    [
      '/v1/sources/pump/metrics/query?metrics=&no_such=%zz&%zz=1&%6Cast=1h&start=bogus',
      { metrics: undefined, window: { startMs: nowMs + 1 - 60 * minute, endMs: nowMs + 1 }, limit: 10_000, interval: '1m' },
    ],
    ['/v1/sources/pump/logs', [{ startMs: nowMs + 1 - 60 * minute, endMs: nowMs + 1 }, 1000, undefined]],
    ['/v1/sources/pump/logs?last=2m&limit=10000&name=a%20b', [{ startMs: nowMs + 1 - 2 * minute, endMs: nowMs + 1 }, 10_000, 'a b']],
    ['/v1/sources/pump/logs?tail=10000&limit=5&last=bogus&name=x', [10_000, 'x']],
    [
      '/v1/fleet/metrics?metric=%2C&last=1m',
      { metric: ',', window: { startMs: nowMs + 1 - minute, endMs: nowMs + 1 }, interval: '1m', limit: 10_000 },
    ],
  ])('%s', async (path, asked) => {
    expect((await get(path)).status).toBe(200);
    expect(store.asked).toEqual(asked);
  });

  it('1,000 metrics in a URL of 14 KB', async () => {
    const metrics = Array.from({ length: 1000 }, (_, i) => `m.${i}.level`.padEnd(13, 'x'));
    expect((await get(`/v1/sources/pump/metrics/query?metrics=${metrics.join(',')}`)).status).toBe(200);
    expect(store.asked).toMatchObject({ metrics });
  });
});

describe('refusals', () => {
  it.each([
    ['/v1/sources?status=asleep', 'invalid_parameter'],
    ['/v1/sources?limit=0', 'invalid_limit'],
    ['/v1/sources?after=a%20b', 'invalid_source_id'],
    ['/v1/sources/pump/metrics?limit=10001', 'invalid_limit'],
    ['/v1/sources/pump/metrics?after=', 'invalid_metric'],
    ['/v1/sources?status=', 'invalid_parameter'],
    ['/v1/sources?status=online&status=online', 'invalid_parameter'],
    ...['..%2fpump', '%00', '%c0%af', '%zz', '%', '-a', 'a%20b', 'x'.repeat(257), 'x'.repeat(5000), 'a%2Fb', '%252f'].flatMap((id) =>
      ['', '/metrics', '/metrics/latest', '/metrics/query', '/logs'].map((rest) => [`/v1/sources/${id}${rest}`, 'invalid_source_id']),
    ),
    ...[
      'last=5w',
      'last=0m',
      'last=-1h',
      `last=${'9'.repeat(400)}h`,
      'last=',
      'last=1h&last=1h',
      'last=1h&%6Cast=1h',
      'last=%ff',
      'start=2026-01-01',
      'end=2026-01-01',
    ]
      .concat('start=2026-01-02&end=2026-01-01', 'start=2026-01-01&end=2026-01-01', 'start=yesterday&end=2026-01-01')
      .flatMap((query) =>
        ['/v1/sources/pump/metrics/query?', '/v1/sources/pump/logs?', '/v1/fleet/metrics?metric=a&'].map((path) => [
          path + query,
          'invalid_window',
        ]),
      ),
    ...['5m', 'auto', '', 'toString', 'raw&interval=raw'].map((value) => [
      `/v1/sources/pump/metrics/query?interval=${value}`,
      'invalid_interval',
    ]),
    ...['limit', 'tail'].flatMap((name) =>
      ['0', '-1', '1.5', '10001', '', 'x', '1e3', '1&tail=1&limit=1'].map((value) => [
        `/v1/sources/pump/logs?${name}=${value}`,
        'invalid_limit',
      ]),
    ),
    ['/v1/sources/pump/logs?name=', 'invalid_metric'],
    ['/v1/sources/pump/metrics/query?metrics=a,%zz', 'invalid_parameter'],
    ['/v1/sources/pump/metrics/query?metrics=a,%00', 'invalid_metric'],
    ['/v1/fleet/metrics', 'invalid_metric'],
    ['/v1/fleet/metrics?metric=', 'invalid_metric'],
    ['/v1/fleet/metrics?metric=a&metric=b', 'invalid_metric'],
    ['/v1/fleet/metrics?metric=%ff', 'invalid_metric'],
    ['/v1/fleet/metrics?metric=a&interval=raw', 'invalid_interval'],
    ['/v1/fleet/metrics?metric=a&interval=5m', 'invalid_interval'],
  ])('%s', async (path, code) => {
    const { status, text, headers } = await get(path);
    expect([status, JSON.parse(text)]).toEqual([400, expect.objectContaining({ code })]);
    expect(headers.get('content-type')).toBe('application/problem+json');
    expect((await get(path, '')).status).toBe(401);
    expect((await get(path, keys.unpaid)).status).toBe(402);
  });

  it('of a store that fails, as 503 with Retry-After', async () => {
    store.failure = new TelemetryError('store_unavailable', 'Ask again in a moment.');
    for (const path of ['/metrics', '/metrics/latest', '/metrics/query', '/metrics/query?last=5m', '/logs', '/logs?tail=1']) {
      const { status, text, headers } = await get(`/v1/sources/pump${path}`);
      expect([path, status, JSON.parse(text)]).toEqual([path, 503, expect.objectContaining({ code: 'store_unavailable' })]);
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    }
    expect((await get('/v1/fleet/metrics?metric=a')).status).toBe(503);
    store.failure = undefined;
  });
});

it('the health of a fleet is counted without a look at each source', async () => {
  const scan = jest.spyOn(log.open(sources), 'scan');
  expect(await json('/v1/fleet/health')).toMatchObject({ sources_total: 2 });
  expect(scan).not.toHaveBeenCalled();
  scan.mockRestore();
});

describe('/v1/devices', () => {
  it.each([
    ['', ''],
    ['?status=online', '?status=online'],
    ['/pump/metrics/query?metrics=a%2Cb&last=1h', '/pump/metrics/query?metrics=a%2Cb&last=1h'],
    ['/', '/'],
    ['//evil.example/x', '//evil.example/x'],
    ['/%2f%2fevil.example', '/%2f%2fevil.example'],
    ['/%c0%af', '/%c0%af'],
    ['/..%2f..%2fevil', '/..%2f..%2fevil'],
  ])('%s goes on without a key', async (path, to) => {
    for (const method of ['GET', 'HEAD', 'POST', 'DELETE']) {
      const { status, headers, text } = await get(`/v1/devices${path}`, '', { method, ...(method === 'POST' && { body: '{' }) });
      expect([method, status, headers.get('location'), text]).toEqual([method, 308, `/v1/sources${to}`, '']);
    }
  });

  it.each(['/v1/devicesx', '/v1/devices%2fx', '//evil.example/v1/devices'])('%s is no such path', async (path) => {
    expect((await get(path)).status).toBe(404);
  });
});

describe('presence', () => {
  const connection = { connectionId: 'c', gatewayId: 'g', connectedMs: 1 };
  const beat = () => log.append([entry(gateways, { gatewayId: 'g', beatMs: 0 })]);

  it('a source is online while a gateway that was heard within 20 s holds a connection of it', async () => {
    const pump = { ...connection, orgId: orgs.paid, sourceId: 'pump' };
    const silent = { ...connection, orgId: orgs.paid, sourceId: 'new' };
    await log.append([entry(presence, pump), entry(presence, silent)]);
    expect(await json('/v1/fleet/health')).toEqual({ sources_total: 2, sources_online: 0 });
    await beat();
    expect(await json('/v1/fleet/health')).toEqual({ sources_total: 3, sources_online: 2 });
    expect(await json('/v1/sources/new')).toEqual({ source_id: 'new', online: true, last_seen_ms: null });
    expect(await json('/v1/sources?status=online')).toEqual({
      devices: [
        { source_id: 'new', online: true, last_seen_ms: null },
        { source_id: 'pump', online: true, last_seen_ms: 7 },
      ],
    });
    expect(await json('/v1/sources?status=offline')).toEqual({ devices: [{ source_id: 'fan', online: false, last_seen_ms: 7 }] });
    expect(await json('/v1/fleet/metrics?metric=a')).toMatchObject({
      sources_online: 2,
      sources: [{ online: true }, { online: false }, { online: false }],
    });
    expect((await get('/v1/sources/new', keys.other)).status).toBe(404);
    monotonicMs += 19_999;
    expect(await json('/v1/sources/pump')).toMatchObject({ online: true });
    monotonicMs += 1;
    expect(await json('/v1/sources/pump')).toMatchObject({ online: false });
    expect((await get('/v1/sources/new')).status).toBe(404);
    await beat();
    expect(await json('/v1/sources/pump')).toMatchObject({ online: true });
    await log.append([tombstone(presence, presence.key(pump)), tombstone(presence, presence.key(silent))]);
    expect(await json('/v1/fleet/health')).toEqual({ sources_total: 2, sources_online: 0 });
  });
});
