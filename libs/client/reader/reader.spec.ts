import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Contract, EmbeddedDeployment, SocketClient, until, type OpenApi } from '#testing';
import { HeadwaterError } from '../error.js';
import { serverOf } from '../settings.js';
import { BaseHeadwater } from './headwater.js';
import type { ReaderOptions } from './access.js';
import type { Columns } from './pages.js';
import type { StreamMessage } from './types.js';

const minuteMs = 60_000;
const begin = Date.UTC(2024, 3, 1);
const reason = new Error('enough');

let server: EmbeddedDeployment;
let contract: Contract;
const lost: unknown[] = [];
const lose = (error: unknown): number => lost.push(error);

beforeAll(async () => {
  process.on('unhandledRejection', lose);
  server = await EmbeddedDeployment.start();
  contract = new Contract((await (await fetch(`${server.urls.api}/openapi.json`)).json()) as OpenApi);
});
afterAll(async () => {
  await server.stop();
  process.off('unhandledRejection', lose);
  expect(lost).toEqual([]);
});

/** A reader whose every answer has to be as the document of the server says. */
const reader = (options: ReaderOptions = {}): BaseHeadwater =>
  new BaseHeadwater({ url: server.urls.api, apiKey: server.keys.own, fetch: checked, ...options });

const checked: typeof fetch = async (url, init) => {
  const response = await fetch(url, init);
  if (response.headers.get('content-type')?.startsWith('text/event-stream')) return response;
  const { pathname, search } = new URL(url instanceof Request ? url.url : url);
  const { status } = response;
  const text = await response.text();
  const headers = Object.fromEntries(response.headers);
  contract.check({ method: init?.method ?? 'GET', path: pathname + search }, { status, text, headers });
  return new Response(status === 204 ? null : text, { status, headers: response.headers });
};

interface Point {
  readonly metric: string;
  readonly value: unknown;
  readonly timestamp: number;
  readonly class?: string;
  readonly tags?: object;
}

async function post(source: string, points: readonly Point[]): Promise<void> {
  for (let at = 0; at < points.length; at += 10_000) {
    const body = JSON.stringify({ source_id: source, points: points.slice(at, at + 10_000) });
    const headers = { 'content-type': 'application/json', 'x-api-key': server.keys.own };
    const response = await fetch(`${server.urls.ingest}/ingest`, { method: 'POST', body, headers });
    expect([response.status, await response.text()]).toEqual([200, expect.anything()]);
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** The columns of one metric as rows. */
const rows = (columns: readonly Columns[], metric: string): readonly (readonly number[])[] =>
  columns
    .filter((one) => one.metric === metric)
    .flatMap((one) =>
      Array.from(one.timestamps, (timestamp, at) =>
        'values' in one ? [timestamp, one.values[at]!] : [timestamp, one.min[at]!, one.max[at]!, one.avg[at]!, one.count[at]!],
      ),
    );

describe('what a device has sent', () => {
  const now = Date.now();
  beforeAll(async () => {
    await post('press-1', [
      { metric: 'a', value: 1, timestamp: now - 2000 },
      { metric: 'a', value: 2, timestamp: now - 1000 },
      { metric: 'b, c', value: 3, timestamp: now - 1000 },
      { metric: ' edge', value: 4, timestamp: now - 1000 },
      { metric: 'door', class: 'event', value: { by: 'x' }, timestamp: now - 1500, tags: { side: 'n' } },
      { metric: 'window', class: 'event', value: 'open', timestamp: now - 500 },
    ]);
    await server.settle();
  });

  it('is there in every way the API has', async () => {
    const headwater = reader();
    const source = headwater.source('press-1');
    expect(await source.get()).toEqual({ source_id: 'press-1', online: false, last_seen_ms: expect.any(Number) });
    expect((await headwater.sources()).map(({ source_id: id }) => id)).toContain('press-1');
    expect(await headwater.sources({ status: 'online' })).toEqual([]);
    expect(await source.metrics()).toEqual([' edge', 'a', 'b, c']);
    expect(await source.latest()).toEqual({ ' edge': 4, a: 2, 'b, c': 3 });
    expect(await source.logs({ tail: 5 })).toEqual([
      { timestamp_ms: now - 1500, metric: 'door', value: '{"by":"x"}', tags: { side: 'n' } },
      { timestamp_ms: now - 500, metric: 'window', value: 'open', tags: {} },
    ]);
    expect(await source.logs({ start: new Date(now - 600) })).toHaveLength(1);
    expect(await source.logs({ last: '1h', name: 'door', limit: 1 })).toHaveLength(1);
    expect(await headwater.fleet.health()).toEqual({ sources_total: expect.any(Number), sources_online: 0 });
    const fleet = await headwater.fleet.metrics({ metric: 'a', start: '2h' });
    expect(fleet.sources.map(({ source_id: id }) => id)).toEqual(['press-1']);
    const days = await headwater.fleet.metrics({ metric: 'a', start: '2h', interval: '1d' });
    expect([fleet.interval, days.interval]).toEqual(['1m', '1d']);
  });

  it.each<[string, object, readonly string[]]>([
    ['all metrics', {}, [' edge', 'a', 'b, c']],
    ['one', { metrics: ['a'] }, ['a']],
    ['one with a comma, and one twice', { metrics: ['b, c', 'a', 'a'] }, ['a', 'b, c']],
    ['one that no list can hold', { metrics: [' edge', 'a'] }, [' edge', 'a']],
    ['one that is not there', { metrics: ['z'] }, []],
  ])('as columns: %s', async (_, query, expected) => {
    const columns = await all(
      reader()
        .source('press-1')
        .query({ ...query, start: now - 5000, end: now + 1 }),
    );
    expect(columns.map(({ metric, interval }) => [metric, interval])).toEqual(expected.map((metric) => [metric, 'raw']));
    const ofA = expected.includes('a')
      ? [
          [now - 2000, 1],
          [now - 1000, 2],
        ]
      : [];
    expect(rows(columns, 'a')).toEqual(ofA);
    for (const { timestamps } of columns) expect(timestamps).toBeInstanceOf(Float64Array);
  });

  it('as columns of the last minutes, which the server would have as the last too', async () => {
    expect(
      rows(
        await all(
          reader()
            .source('press-1')
            .query({ last: '5m', metrics: ['a'] }),
        ),
        'a',
      ),
    ).toHaveLength(2);
    expect(rows(await all(reader().source('press-1').query()), 'a')).toHaveLength(
      new Date(now - 2000).getMinutes() === new Date(now - 1000).getMinutes() ? 1 : 2,
    );
  });
});

describe('a query of more rows than one answer holds', () => {
  const steps = Array.from({ length: 17_500 }, (_, n) => n);
  beforeAll(async () => {
    // 35,000 points of two metrics; of each tenth minute two that differ in tags.
    await post(
      'long',
      steps.flatMap((n) => [
        { metric: 'a', value: n, timestamp: begin + n * minuteMs },
        n % 10 === 0
          ? { metric: 'a', value: -n, timestamp: begin + n * minuteMs, tags: { other: 'yes' } }
          : { metric: 'b', value: n / 2, timestamp: begin + n * minuteMs },
      ]),
    );
    await server.settle();
  });
  const window = { start: begin, end: begin + 20_000 * minuteMs };

  it('is what was sent', async () => {
    const columns = await all(
      reader()
        .source('long')
        .query({ ...window, interval: 'raw' }),
    );
    expect(columns.length).toBeGreaterThan(6);
    expect(rows(columns, 'a')).toEqual(
      steps.flatMap((n) =>
        n % 10 === 0
          ? [
              [begin + n * minuteMs, n],
              [begin + n * minuteMs, n === 0 ? 0 : -n],
            ]
          : [[begin + n * minuteMs, n]],
      ),
    );
    expect(rows(columns, 'b')).toEqual(steps.filter((n) => n % 10 !== 0).map((n) => [begin + n * minuteMs, n / 2]));
  });

  it('in buckets, with the interval that the first answer has chosen', async () => {
    const columns = await all(
      reader()
        .source('long')
        .query({ ...window, interval: '1m', metrics: ['a'] }),
    );
    const expected = steps.map((n) =>
      n % 10 === 0 ? [begin + n * minuteMs, n === 0 ? 0 : -n, n, 0, 2] : [begin + n * minuteMs, n, n, n, 1],
    );
    expect(rows(columns, 'a').map((row) => row.map((cell) => cell + 0))).toEqual(expected);
    const chosen = await all(reader().source('long').query(window));
    expect(new Set(chosen.map(({ interval }) => interval))).toEqual(new Set(['10m']));
    expect(rows(chosen, 'a')).toHaveLength(1750);
  });

  it('has all metrics of a span of time on one page', async () => {
    let lastMs = -Infinity;
    for await (const page of reader()
      .source('long')
      .pages({ ...window, interval: 'raw' })) {
      const times = page.flatMap(({ timestamps }) => [...timestamps]);
      expect(Math.min(...times)).toBeGreaterThan(lastMs);
      lastMs = times.reduce((most, ms) => Math.max(most, ms));
    }
    expect(lastMs).toBe(begin + 17_499 * minuteMs);
  });

  it('ends with an error where one answer holds a single time, and never asks for the same again', async () => {
    await post(
      'one-time',
      steps.slice(0, 10_001).map((n) => ({ metric: 'm', value: n, timestamp: begin + minuteMs, tags: { n: `${n}` } })),
    );
    await post('one-time', [{ metric: 'm', value: -1, timestamp: begin }]);
    await server.settle();
    let asked = 0;
    const headwater = reader({ fetch: (url, init) => (asked++, checked(url, init)) });
    const found: Columns[] = [];
    const reading = (async () => {
      for await (const columns of headwater.source('one-time').query({ ...window, interval: 'raw' })) found.push(columns);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'page_full', message: expect.stringContaining('2024-04-01T00:01:00.000Z') });
    expect(rows(found, 'm')).toEqual([[begin, -1]]);
    expect(asked).toBe(2);
  });
});

describe('monitors, alerts and keys', () => {
  it('are made, seen, changed and deleted', async () => {
    const { monitors, alerts } = reader();
    const threshold = { max: 80, clear: 75, severity: 'critical' } as const;
    await post('hot', [{ metric: 'm', value: 1, timestamp: Date.now() }]);
    await server.settle();
    const made = await monitors.create({ source_id: 'hot', metric: 'm', threshold });
    expect(await monitors.get(made.id)).toMatchObject({ threshold });
    expect(await monitors.list({ sourceId: 'hot' })).toHaveLength(1);
    expect(await monitors.change(made.id, { threshold: { max: 50, clear: null } })).toMatchObject({ threshold: { max: 50 } });
    const test = await monitors.backtest({ source_id: 'hot', metric: 'm', threshold: { max: 0 }, start: '10m' });
    expect(test).toMatchObject({ points: 1, transitions: [{ event: 'alert.triggered', value: 1 }] });
    await post('hot', [{ metric: 'm', value: 99, timestamp: Date.now() }]);
    let [alert] = await all(alerts.list());
    await until(
      'there is an alert',
      async () => ([alert] = await all(alerts.list({ sourceId: 'hot', status: 'open', since: '1d' }))).length > 0,
    );
    expect(alert).toMatchObject({ monitor_id: made.id, value: 99, severity: 'critical' });
    expect((await alerts.acknowledge(alert!.alert_id)).acknowledged).toMatchObject({ at_ms: expect.any(Number) });
    const until1 = new Date(Math.ceil(Date.now() / 1000) * 1000 + minuteMs);
    expect(await alerts.silence(alert!.alert_id, until1)).toMatchObject({ silenced_until_ms: until1.getTime() });
    await monitors.delete(made.id);
    await expect(monitors.get(made.id)).rejects.toMatchObject({ code: 'unknown_monitor', status: 404 });
  });

  it('keys too', async () => {
    const { keys } = reader();
    const made = await keys.create({ name: 'test', scopes: ['read'], sources: ['press-*'] });
    expect((await keys.list()).map(({ id }) => id)).toContain(made.id);
    await until('the key is known', async () => {
      const verified = await reader({ apiKey: made.api_key })
        .keys.verify()
        .catch(() => undefined);
      return verified?.scopes[0] === 'read';
    });
    await keys.delete(made.id);
    expect((await keys.list()).map(({ id }) => id)).not.toContain(made.id);
  });
});

describe('an error', () => {
  it.each<[number, string, (headwater: BaseHeadwater) => Promise<unknown>, () => ReaderOptions]>([
    [401, 'invalid_key', (headwater) => headwater.sources(), () => ({ apiKey: 'hw_wrong' })],
    [402, 'payment_required', (headwater) => headwater.sources(), () => ({ apiKey: server.keys.unpaid! })],
    [402, 'payment_required', (headwater) => all(headwater.source('a').stream()), () => ({ apiKey: server.keys.unpaid! })],
    [404, 'unknown_source', (headwater) => headwater.source('nobody').get(), () => ({})],
    [404, 'unknown_alert', (headwater) => headwater.alerts.acknowledge('a/../b'), () => ({})],
    [400, 'invalid_window', (headwater) => headwater.source('a').logs({ start: 'yesterday' }), () => ({})],
    [400, 'invalid_window', (headwater) => all(headwater.source('a').query({ last: '3 weeks' })), () => ({})],
    [400, 'invalid_window', (headwater) => headwater.source('a').logs({ end: new Date() }), () => ({})],
    [400, 'invalid_limit', (headwater) => headwater.source('a').logs({ limit: 0 }), () => ({})],
    [400, 'invalid_body', (headwater) => headwater.monitors.create({} as never), () => ({})],
    [400, 'invalid_source_id', (headwater) => headwater.source('-').metrics(), () => ({})],
  ])('%i %s', async (status, code, ask, options) => {
    const error = (await ask(reader(options())).catch((cause: unknown) => cause)) as HeadwaterError;
    expect(error).toBeInstanceOf(HeadwaterError);
    expect(error).toMatchObject({ status, code, requestId: expect.stringMatching(/^\S{8,}$/) });
    expect(error.message).not.toContain('hw_');
  });

  it.each(['', '.', '..'])('%j is no id', (id) => {
    expect(() => reader().source(id)).toThrow(expect.objectContaining({ code: 'invalid_argument' }));
  });

  it('of the settings comes with the first call, and is asked about again', async () => {
    const found = [
      { url: 'nowhere', apiKey: 'k' },
      { url: server.urls.api, apiKey: server.keys.own },
    ];
    const headwater = new BaseHeadwater({}, () => serverOf(found.shift()!));
    await expect(headwater.sources()).rejects.toMatchObject({ code: 'invalid_argument' });
    expect(await headwater.fleet.health()).toBeDefined();
  });
});

describe('a server that is busy or away for a moment', () => {
  const failing = (answers: readonly (() => Promise<Response>)[]): { tries: () => number; fetch: typeof fetch } => {
    let tries = 0;
    return { tries: () => tries, fetch: (url, init) => (answers[tries++] ?? (() => fetch(url, init)))() };
  };
  const status = (code: number) => () => Promise.resolve(new Response('{}', { status: code }));
  const away = () => Promise.reject(new TypeError('fetch failed'));

  it('is asked again to read, and waits are told', async () => {
    const waits: [string, number][] = [];
    const faults = failing([away, status(503), status(429)]);
    const headwater = reader({ fetch: faults.fetch, onRetry: ({ code, status: found = 0 }) => waits.push([code, found]) });
    expect(await headwater.fleet.health()).toBeDefined();
    expect(waits.map(([, found]) => found)).toEqual([0, 503, 429]);
  });

  it.each([[500], [400], [404]])('but not after %i', async (code) => {
    const faults = failing([status(code)]);
    await expect(reader({ fetch: faults.fetch }).sources()).rejects.toMatchObject({ status: code });
    expect(faults.tries()).toBe(1);
  });

  it('is never asked again to change something', async () => {
    for (const fault of [away, status(503)]) {
      const faults = failing([fault]);
      await expect(reader({ fetch: faults.fetch }).keys.create({ name: 'a' })).rejects.toThrow(HeadwaterError);
      expect(faults.tries()).toBe(1);
    }
  });

  it('is given up when the patience is over', async () => {
    const faults = failing(Array.from({ length: 100 }, () => away));
    await expect(reader({ fetch: faults.fetch, patienceMs: 0 }).sources()).rejects.toMatchObject({ code: 'no_answer' });
    expect(faults.tries()).toBe(1);
  });
});

describe('a command', () => {
  const connected = async (id: string): Promise<SocketClient> => {
    const device = await SocketClient.open(server.urls.ingest, '/ws/device');
    device.send({ type: 'device_auth', api_key: server.keys.own, source_id: id });
    expect(await device.json()).toMatchObject({ type: 'authenticated' });
    return device;
  };
  const answers = async (device: SocketClient, outcomes: readonly object[]): Promise<void> => {
    const { id } = await device.json();
    for (const outcome of outcomes) device.send({ type: 'command_result', id, ...outcome });
  };

  it('is handed to the device, and its result comes back', async () => {
    const device = await connected('obeys');
    const source = reader().source('obeys');
    const { id } = await source.command('reboot');
    expect(await device.json()).toMatchObject({ id, command: 'reboot', params: {} });
    const answered = answers(device, [{ event: 'ack' }, { event: 'result', result: { rpm: 9 } }]);
    expect(await source.command('speed', { rpm: 9 }, { wait: true })).toEqual({ id: expect.any(String), result: { rpm: 9 } });
    await answered;
    const failed = answers(device, [{ event: 'error', error: 'jammed' }]);
    await expect(source.command('speed', {}, { wait: true })).rejects.toMatchObject({ code: 'command_failed', cause: 'jammed' });
    await failed;
    let acknowledged = 0;
    const begun = answers(device, [{ event: 'ack' }]);
    const waiting = source.command('slow', {}, { wait: true, timeoutMs: 2_000, onAcknowledged: () => acknowledged++ });
    await expect(waiting).rejects.toMatchObject({ code: 'no_outcome', message: expect.stringContaining('has not said how it ended') });
    await begun;
    expect(acknowledged).toBe(1);
    await device.close();
  });

  it('for a device that is not connected is an error', async () => {
    await expect(reader().source('absent').command('reboot')).rejects.toMatchObject({ code: 'not_delivered' });
  });

  it('ends with the signal while it waits', async () => {
    const device = await connected('silent');
    const controller = new AbortController();
    const ended = reader().source('silent').command('a', {}, { wait: true, signal: controller.signal });
    await device.json();
    controller.abort(reason);
    await expect(ended).rejects.toBe(reason);
    await device.close();
  });
});

describe('the signal', () => {
  const calls: [string, (headwater: BaseHeadwater, signal: AbortSignal) => Promise<unknown>][] = [
    ['sources', (headwater, signal) => headwater.sources({ signal })],
    ['get', (headwater, signal) => headwater.source('a').get({ signal })],
    ['metrics', (headwater, signal) => headwater.source('a').metrics({ signal })],
    ['latest', (headwater, signal) => headwater.source('a').latest({ signal })],
    ['logs', (headwater, signal) => headwater.source('a').logs({ signal })],
    ['query', (headwater, signal) => all(headwater.source('a').query({ signal }))],
    ['stream', (headwater, signal) => all(headwater.source('a').stream({ signal }))],
    ['command', (headwater, signal) => headwater.source('a').command('a', {}, { signal })],
    ['fleet.health', (headwater, signal) => headwater.fleet.health({ signal })],
    ['fleet.metrics', (headwater, signal) => headwater.fleet.metrics({ metric: 'a', signal })],
    ['monitors.list', (headwater, signal) => headwater.monitors.list({ signal })],
    ['monitors.create', (headwater, signal) => headwater.monitors.create({ source_id: 'a' }, { signal })],
    ['monitors.get', (headwater, signal) => headwater.monitors.get('a', { signal })],
    ['monitors.change', (headwater, signal) => headwater.monitors.change('a', {}, { signal })],
    ['monitors.delete', (headwater, signal) => headwater.monitors.delete('a', { signal })],
    ['monitors.backtest', (headwater, signal) => headwater.monitors.backtest({ source_id: 'a' }, { signal })],
    ['alerts.list', (headwater, signal) => all(headwater.alerts.list({ signal }))],
    ['alerts.acknowledge', (headwater, signal) => headwater.alerts.acknowledge('a', { signal })],
    ['alerts.silence', (headwater, signal) => headwater.alerts.silence('a', 1, { signal })],
    ['keys.list', (headwater, signal) => headwater.keys.list({ signal })],
    ['keys.create', (headwater, signal) => headwater.keys.create({ name: 'a' }, { signal })],
    ['keys.delete', (headwater, signal) => headwater.keys.delete('a', { signal })],
    ['keys.verify', (headwater, signal) => headwater.keys.verify({ signal })],
  ];

  it.each(calls)('ends %s before it begins, and while it waits for the answer', async (_, call) => {
    await expect(call(reader(), AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const hanging: typeof fetch = (_url, init) =>
      new Promise((_resolve, reject) => {
        init!.signal!.addEventListener('abort', () => reject(init!.signal!.reason as Error));
        controller.abort(reason);
      });
    await expect(call(reader({ fetch: hanging }), controller.signal)).rejects.toBe(reason);
  });

  it('ends a pause, a query between two answers, and a stream that is silent', async () => {
    const [pause, pages, stream] = [new AbortController(), new AbortController(), new AbortController()];
    const busy = reader({
      fetch: () => Promise.resolve(new Response('{}', { status: 503, headers: { 'retry-after': '9' } })),
      onRetry: () => pause.abort(reason),
    });
    await expect(busy.sources({ signal: pause.signal })).rejects.toBe(reason);
    const query = reader()
      .source('long')
      .query({ start: begin, end: begin + 20_000 * minuteMs, interval: 'raw', signal: pages.signal });
    expect(await query.next()).toMatchObject({ done: false });
    pages.abort(reason);
    await expect(all(query)).rejects.toBe(reason);
    const messages: StreamMessage[] = [];
    const reading = (async () => {
      for await (const message of reader().source('quiet').stream({ signal: stream.signal })) {
        messages.push(message);
        setImmediate(() => stream.abort(reason));
      }
    })();
    await expect(reading).rejects.toBe(reason);
    expect(messages).toEqual([{ type: 'cursor', cursor: expect.any(String) }]);
  });
});
