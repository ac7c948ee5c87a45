import { randomBytes } from 'node:crypto';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '../eventually.js';
import type { EntryJson, QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const json = { 'content-type': 'application/json' };
const gzip = { 'content-encoding': 'gzip' };
const at = Date.UTC(2024, 4, 5, 6, 7, 8);
const window = '&start=2024-05-05T00:00:00Z&end=2024-05-06T00:00:00Z';
const limitBytes = 5 * 1024 * 1024;

/** A valid body of exactly so many bytes. */
function bodyOf(sourceId: string, bytes: number): string {
  const [head, tail] = [`{"source_id":"${sourceId}","points":[],"padding":"`, '"}'];
  return head + 'x'.repeat(bytes - head.length - tail.length) + tail;
}

/** A body whose JSON is nested so many deep: the body, `points`, the point, and then the value of its event. */
const nested = (sourceId: string, depth: number): string =>
  `{"source_id":"${sourceId}","points":[{"metric":"deep","class":"event","timestamp":${at},"value":${'['.repeat(depth - 3)}1${']'.repeat(depth - 3)}}]}`;

export const ingest: Section = (stage) => {
  describe('decisions §3: the receipt', () => {
    const point = { metric: 'm', value: 1, timestamp: at };
    it.each([
      ['the body names the source', (a: string) => ({ source_id: a, points: [point, point] }), 2, true],
      ['all points name one source', (a: string) => ({ points: [{ ...point, source_id: a }] }), 1, true],
      ['body and points name one source', (a: string) => ({ source_id: a, points: [{ ...point, source_id: a }] }), 1, true],
      ['two sources are named', (a: string, b: string) => ({ source_id: a, points: [{ ...point, source_id: b }, point] }), 2, false],
      ['there are no points', (a: string) => ({ source_id: a, points: [] }), 0, true],
      ['there are no points and no source', () => ({ points: [] }), 0, false],
      ['events count too', (a: string) => ({ source_id: a, points: [{ ...point, class: 'event' }, point] }), 2, true],
    ])('%s', async (_, body, count, named) => {
      const [a, b] = [stage().id('receipt'), stage().id('receipt-b')];
      const answer = await stage().own.ingest(body(a, b));
      const expected = { success: true, count, ...(named && { source_id: a }) };
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, expected]);
    });

    it("a point's own source_id overrides the body's", async () => {
      const [a, b] = [stage().id('body'), stage().id('point')];
      await stage().own.accepted({
        source_id: a,
        points: [
          { ...point, metric: 'for.a' },
          { ...point, metric: 'for.b', source_id: b },
        ],
      });
      await stage().reads(a, '/metrics', (names) => expect(names).toEqual(['for.a']));
      await stage().reads(b, '/metrics', (names) => expect(names).toEqual(['for.b']));
    });
  });

  describe('§4.1 bodies: JSON, plain or gzip, at most 5 MiB and 10,000 points', () => {
    it('10,000 points are accepted, 10,001 are 413', async () => {
      const id = stage().id('ten-thousand');
      const points = Array.from({ length: 10_000 }, (_, n) => ({ metric: 'm', value: n, timestamp: at + n }));
      const whole = await stage().own.ingest({ source_id: id, points });
      expect([whole.status, JSON.parse(whole.text)]).toEqual([200, { success: true, count: 10_000, source_id: id }]);
      const more = await stage().own.ingest({ source_id: id, points: [...points, { metric: 'more', value: 1, timestamp: at }] });
      problem(more, 413, 'too_many_points');
    });

    it.each([
      ['plain', limitBytes, {}, (body: string) => body, 200],
      ['plain', limitBytes + 1, {}, (body: string) => body, 413],
      ['gzipped', limitBytes, gzip, gzipSync, 200],
      ['gzipped', limitBytes + 1, gzip, gzipSync, 413],
      ['gzipped 1000:1', 50 * 1024 * 1024, gzip, gzipSync, 413],
    ])('%s, %d bytes inside', async (_, bytes, headers, encode, status) => {
      const answer = await stage().own.ingest(encode(bodyOf(stage().id('size'), bytes)), headers);
      expect(answer.status).toBe(status);
      if (answer.status === 413) problem(answer, 413, 'body_too_large');
    });

    it('gzip that does not compress counts as it is sent', async () => {
      problem(await stage().own.ingest(randomBytes(limitBytes + 1), gzip), 413, 'body_too_large');
    });

    it.each([
      ['application/json', 200],
      ['application/json; charset=utf-8', 200],
      ['APPLICATION/JSON', 200],
      ['text/plain', 415],
      ['text/json', 415],
      ['application/x-www-form-urlencoded', 415],
      ['multipart/form-data; boundary=x', 415],
      ['application/jsonp', 415],
      ['', 415],
    ])('Content-Type "%s" is %d', async (type, status) => {
      const answer = await stage().own.ingest('{"points":[]}', { 'content-type': type });
      if (status === 415) problem(answer, 415, 'unsupported_content_type');
      expect(answer.status).toBe(status);
    });

    it('no Content-Type is 415', async () => {
      problem(await stage().own.askIngest({ method: 'POST', path: '/ingest', body: '{"points":[]}' }), 415, 'unsupported_content_type');
    });

    it.each([
      ['gzip', gzipSync, 200],
      ['GZIP', gzipSync, 200],
      ['identity', (body: string) => Buffer.from(body), 200],
      ['br', (body: string) => Buffer.from(body), 415],
      ['deflate', deflateSync, 415],
      ['zstd', (body: string) => Buffer.from(body), 415],
      ['gzip, gzip', (body: string) => gzipSync(gzipSync(body)), 415],
      ['gzip, identity, br', gzipSync, 415],
    ])('Content-Encoding "%s" is %d', async (encoding, encode, status) => {
      const answer = await stage().own.ingest(encode('{"points":[]}'), { 'content-encoding': encoding });
      expect(answer.status).toBe(status);
      if (status !== 415) return;
      problem(answer, 415, 'unsupported_content_encoding');
      expect(answer.headers['accept-encoding']).toBe('gzip');
    });

    it('a gzipped body is stored like a plain one', async () => {
      const id = stage().id('gzip');
      const answer = await stage().own.ingestGzip({ source_id: id, points: [{ metric: 'm', value: 7.25, timestamp: at }] });
      expect(answer.status).toBe(200);
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(series).toEqual({ m: { timestamp_ms: [at], value: [7.25] } }),
      );
    });

    const whole = gzipSync('{"points":[]}');
    it.each([
      ['plain JSON', Buffer.from('{"points":[]}')],
      ['nothing', Buffer.alloc(0)],
      ['a truncated stream', whole.subarray(0, -4)],
      ['a flipped checksum', Buffer.concat([whole.subarray(0, -5), Buffer.from([0x55]), whole.subarray(-4)])],
      ['trailing bytes', Buffer.concat([whole, Buffer.from('more')])],
      ['a raw deflate stream', deflateRawSync('{"points":[]}')],
      ['double gzip under one name', gzipSync(whole)],
    ])('Content-Encoding gzip with %s is 400', async (_, body) => {
      problem(await stage().own.ingest(body, gzip), 400);
    });
  });

  describe('what is no body is 400', () => {
    it.each([
      ['nothing', '', 'invalid_json'],
      ['a broken text', '{"source_id":"a","points":[', 'invalid_json'],
      ['two values', '{"points":[]}{"points":[]}', 'invalid_json'],
      ['NaN', '{"source_id":"a","points":[{"metric":"m","value":NaN}]}', 'invalid_json'],
      ['a trailing comma', '{"points":[],}', 'invalid_json'],
      ['a lone quote in Latin-1', Buffer.from([0x22, 0xe9, 0x22]), 'invalid_json'],
      [
        'invalid UTF-8 in a name',
        Buffer.concat([Buffer.from('{"points":[],"x":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')]),
        'invalid_json',
      ],
      ['null', 'null', 'invalid_body'],
      ['an array', '[]', 'invalid_body'],
      ['a number', '1', 'invalid_body'],
      ['no points', '{"source_id":"a"}', 'invalid_body'],
      ['points that are no array', '{"source_id":"a","points":{}}', 'invalid_body'],
      ['points null', '{"source_id":"a","points":null}', 'invalid_body'],
      ['a source_id that is no string', '{"source_id":7,"points":[]}', undefined],
    ])('%s', async (_, body, code) => {
      problem(await stage().own.ingest(body), 400, code);
    });

    it('JSON nested 64 deep is accepted, 65 deep is 400, 5 MB of brackets too', async () => {
      const id = stage().id('deep');
      await stage().own.accepted(nested(id, 64));
      problem(await stage().own.ingest(nested(id, 65)), 400, 'json_too_deep');
      problem(await stage().own.ingest('['.repeat(5_000_000)), 400);
      problem(await stage().own.ingest(`{"points":[],"x":${'['.repeat(100_000)}${']'.repeat(100_000)}}`), 400, 'json_too_deep');
      await stage().reads<EntryJson[]>(id, '/logs?tail=10', (entries) =>
        expect(entries.map(({ value }) => value)).toEqual([`${'['.repeat(61)}1${']'.repeat(61)}`]),
      );
    });
  });

  describe('what a point must have: 400 with a pointer, and the whole body is refused', () => {
    const good = { metric: 'm', value: 1, timestamp: at };
    const without = (name: string): object => Object.fromEntries(Object.entries(good).filter(([key]) => key !== name));
    it.each([
      ['not an object', '7', '/points/1'],
      ['null', 'null', '/points/1'],
      ['an array', '[]', '/points/1'],
      ['no metric', without('metric'), '/points/1'],
      ['metric null', { ...good, metric: null }, '/points/1/metric'],
      ['metric a number', { ...good, metric: 5 }, '/points/1/metric'],
      ['metric empty', { ...good, metric: '' }, '/points/1/metric'],
      ['no value', without('value'), '/points/1'],
      ['value null', { ...good, value: null }, '/points/1/value'],
      ['value a string', { ...good, value: '1' }, '/points/1/value'],
      ['value a bool', { ...good, value: true }, '/points/1/value'],
      ['value an object', { ...good, value: {} }, '/points/1/value'],
      ['value 1e400', '{"metric":"m","value":1e400}', '/points/1/value'],
      ['value -1e400', '{"metric":"m","value":-1e400}', '/points/1/value'],
      ['class metric and a string', { ...good, class: 'metric', value: 'x' }, '/points/1/value'],
      ['timestamp a string', { ...good, timestamp: '2024-01-01T00:00:00Z' }, '/points/1/timestamp'],
      ['timestamp a bool', { ...good, timestamp: true }, '/points/1/timestamp'],
      ['timestamp 1e400', '{"metric":"m","value":1,"timestamp":1e400}', '/points/1/timestamp'],
      ['timestamp past year 9999', { ...good, timestamp: 253_402_300_800 }, '/points/1/timestamp'],
      ['source_id empty', { ...good, source_id: '' }, '/points/1/source_id'],
      ['source_id a number', { ...good, source_id: 5 }, '/points/1/source_id'],
      ['tags a list', { ...good, tags: [] }, '/points/1/tags'],
      ['tags a text', { ...good, tags: 'a' }, '/points/1/tags'],
      ['a tag that is no string', { ...good, tags: { a: 1 } }, '/points/1/tags/a'],
      ['17 tags', { ...good, tags: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`t${n}`, ''])) }, '/points/1/tags'],
      ['event value missing', { ...without('value'), class: 'event' }, '/points/1'],
    ])('%s', async (_, point, pointer) => {
      const id = stage().id('refused');
      const text = typeof point === 'string' ? point : JSON.stringify(point);
      const answer = await stage().own.ingest(`{"source_id":"${id}","points":[{"metric":"good","value":1},${text}]}`);
      const { errors: flaws = [] } = problem(answer, 400, 'invalid_points');
      // A missing field may be pointed at itself or at the point that lacks it.
      expect(flaws.map((flaw) => flaw.pointer)).toEqual([
        expect.stringMatching(new RegExp(`^${pointer}${pointer === '/points/1' ? '(/\\w+)?' : ''}$`)),
      ]);
    });

    it("every point needs a source: its own or the body's", async () => {
      const { errors: flaws = [] } = problem(
        await stage().own.ingest({ points: [{ ...good, source_id: 'a' }, good] }),
        400,
        'invalid_points',
      );
      expect(flaws.map(({ pointer }) => pointer)).toEqual([expect.stringMatching(/^\/points\/1(\/source_id)?$/)]);
    });

    it('nothing of a refused body is written', async () => {
      const id = stage().id('all-or-nothing');
      const body = { source_id: id, points: [good, { ...good, class: 'event', metric: 'e' }, { ...good, value: 'bad' }] };
      problem(await stage().own.ingest(body), 400, 'invalid_points');
      await stage().caughtUp(id);
      await stage().reads(id, '/metrics', (names) => expect(names).toEqual(['mark']));
      await stage().reads<EntryJson[]>(id, '/logs?tail=10', (entries) => expect(entries.map(({ metric }) => metric)).toEqual(['mark']));
    });
  });

  describe('keys of objects are data', () => {
    it('unknown keys are ignored', async () => {
      const id = stage().id('unknown-keys');
      await stage().own.accepted({
        source_id: id,
        extra: 1,
        points: [{ metric: 'm', value: 1, timestamp: at, unit: 'K', nested: { a: [] } }],
      });
      await stage().reads(id, '/metrics', (names) => expect(names).toEqual(['m']));
    });

    it('of a key that comes twice the last counts', async () => {
      const id = stage().id('twice');
      await stage().own.accepted(
        `{"points":[{"metric":"zzz","value":9}],"source_id":"other","source_id":"${id}","points":[{"metric":"a","metric":"b","value":1,"value":2,"timestamp":${at}}]}`,
      );
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(series).toEqual({ b: { timestamp_ms: [at], value: [2] } }),
      );
    });

    it('__proto__ and constructor are names like any other', async () => {
      const id = stage().id('proto');
      const value = '{"__proto__":{"admin":true},"constructor":{"prototype":{"x":1}}}';
      const names = ['__proto__', 'constructor', 'hasOwnProperty', 'toString'];
      const points = names.map((name) => `{"metric":"${name}","value":1,"timestamp":${at},"tags":{"__proto__":"t"}}`);
      const event = `{"metric":"__proto__","class":"event","timestamp":${at},"value":${value},"tags":{"__proto__":"t","constructor":"c"}}`;
      await stage().own.accepted(`{"source_id":"${id}","__proto__":{"points":[]},"points":[${[...points, event].join()}]}`);
      await stage().reads(id, '/metrics', (found) => expect(found).toEqual([...names].toSorted()));
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(Object.keys(series).toSorted()).toEqual([...names].toSorted()),
      );
      await eventually(async () => {
        const answer = await stage().own.ask({ path: `/v1/sources/${id}/logs?tail=1` });
        expect(answer.text).toContain(JSON.stringify(value));
        expect(answer.text).toMatch(/"tags":\{("__proto__":"t","constructor":"c"|"constructor":"c","__proto__":"t")\}/);
      });
    });

    it('tags null and timestamp null are as none', async () => {
      const id = stage().id('nulls');
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, tags: null, timestamp: null, source_id: null }] });
      await stage().reads<{ metrics: unknown }>(id, '/metrics/latest', ({ metrics }) => expect(metrics).toEqual({ m: 1 }));
    });
  });

  describe('decisions §3: browsers may send', () => {
    it('OPTIONS /ingest answers 204 to any origin, with the method and the headers', async () => {
      const headers = {
        origin: 'https://example.org',
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'x-api-key',
      };
      const answer = await stage().bare({ method: 'OPTIONS', path: '/ingest', headers }, stage().urls.ingest);
      expect([answer.status, answer.text, answer.headers['access-control-allow-origin']]).toEqual([204, '', '*']);
      expect(answer.headers['access-control-allow-methods']?.split(/, ?/)).toContain('POST');
      const allowed = answer.headers['access-control-allow-headers']?.toLowerCase().split(/, ?/);
      expect(allowed).toEqual(expect.arrayContaining(['content-type', 'content-encoding', 'x-api-key']));
    });

    it.each([
      ['a receipt', '{"points":[]}', 200],
      ['an error', '{', 400],
    ])('%s can be read by any origin', async (_, body, status) => {
      const answer = await stage().own.ingest(body, { origin: 'https://example.org' });
      expect([answer.status, answer.headers['access-control-allow-origin']]).toEqual([status, '*']);
    });

    it('§9: the path carries no version', async () => {
      problem(
        await stage().own.askIngest({ method: 'POST', path: '/v1/ingest', headers: json, body: '{"points":[]}' }),
        404,
        'unknown_route',
      );
    });

    it.each(['/ingest/', '//ingest', '/INGEST', '/ingest?x=1'])('POST %s never redirects', async (path) => {
      const { status } = await stage().own.askIngest({ method: 'POST', path, headers: json, body: '{"points":[]}' });
      expect([200, 404]).toContain(status);
    });
  });

  describe('decisions §3: a stamped body sent again changes nothing', () => {
    const id = () => stage().id('again');
    const points = [
      { metric: 'a', value: 1, timestamp: at },
      { metric: 'a', value: 2, timestamp: at + 1000 },
      { metric: 'b', value: 3, timestamp: at, tags: { site: 'north' } },
      { metric: 'door', class: 'event', value: { open: true }, timestamp: at },
      { metric: 'door', class: 'event', value: { open: true }, timestamp: at },
      { metric: 'door', class: 'event', value: { open: false }, timestamp: at + 1 },
    ];
    const state = async (): Promise<unknown> => ({
      raw: await stage().own.json(`/v1/sources/${id()}/metrics/query?interval=raw${window}`),
      hours: await stage().own.json(`/v1/sources/${id()}/metrics/query?interval=1h${window}`),
      logs: await stage().own.json(`/v1/sources/${id()}/logs?tail=100`),
    });

    it('whole, in parts, in any order, gzipped', async () => {
      const send = async (...some: typeof points): Promise<void> => stage().own.accepted({ source_id: id(), points: some });
      await send(...points);
      await stage().reads<QueryJson>(id(), `/metrics/query?interval=1h${window}`, ({ series }) =>
        expect(series).toEqual({
          a: { timestamp_ms: [Date.UTC(2024, 4, 5, 6)], min: [1], max: [2], avg: [1.5], count: [2] },
          b: { timestamp_ms: [Date.UTC(2024, 4, 5, 6)], min: [3], max: [3], avg: [3], count: [1] },
        }),
      );
      const first = await eventually(async () => {
        const found = (await state()) as { logs: EntryJson[] };
        expect(found.logs.map(({ value }) => value)).toEqual(['{"open":true}', '{"open":true}', '{"open":false}']);
        return found;
      });
      await send(...points);
      await send(...points.slice(2, 4));
      await send(...points.toReversed());
      await send(points[4]!);
      await stage().own.ingestGzip({ source_id: id(), points });
      // In one organization another body of the same source comes after all of these.
      await stage().own.accepted({
        source_id: id(),
        points: [
          { metric: 'c', value: 1, timestamp: Date.UTC(2024, 8, 1) },
          { metric: 'last', class: 'event', value: 'x', timestamp: Date.UTC(2024, 8, 1) },
        ],
      });
      await eventually(async () => {
        expect(await stage().own.json(`/v1/sources/${id()}/metrics`)).toEqual(['a', 'b', 'c']);
        expect(await state()).toEqual({
          ...first,
          logs: [...first.logs, { timestamp_ms: Date.UTC(2024, 8, 1), metric: 'last', value: 'x', tags: {} }],
        });
      });
    });

    it('of two values for one point the later wins, in raw series, rollups and latest alike', async () => {
      const source = stage().id('later-wins');
      const now = Date.now() - 1000;
      const value = (v: number) => ({ metric: 'm', value: v, timestamp: now });
      await stage().own.accepted({ source_id: source, points: [value(1), value(5), value(2)] });
      await stage().own.accepted({ source_id: source, points: [value(9)] });
      await stage().own.accepted({ source_id: source, points: [value(4), value(3)] });
      await stage().reads<QueryJson>(source, '/metrics/query?last=5m', ({ series }) =>
        expect(series).toEqual({ m: { timestamp_ms: [now], value: [3] } }),
      );
      await stage().reads<QueryJson>(source, '/metrics/query?last=5m&interval=1m', ({ series }) =>
        expect(series['m']).toMatchObject({ min: [3], max: [3], avg: [3], count: [1] }),
      );
      await stage().reads(source, '/metrics/latest', (latest) => expect(latest).toEqual({ metrics: { m: 3 } }));
    });
  });

  it('§4.1 rule 5: points of many metrics and sources in one body all arrive', async () => {
    const sources = Array.from({ length: 20 }, (_, n) => stage().id(`batch-${n}`));
    const points = sources.flatMap((source_id, n) => ['x', 'y'].map((metric) => ({ source_id, metric, value: n, timestamp: at })));
    await stage().own.accepted({ points });
    for (const [n, id] of sources.entries()) {
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw${window}`, ({ series }) =>
        expect(series).toEqual({ x: { timestamp_ms: [at], value: [n] }, y: { timestamp_ms: [at], value: [n] } }),
      );
    }
  });
};
