import { beforeAll, describe, expect, it } from '@jest/globals';
import { metricList, query, type DeviceJson, type EntryJson, type FleetJson, type QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const at = Date.UTC(2024, 5, 6, 7, 8, 9);
const window = { start: '2024-06-06T00:00:00Z', end: '2024-06-07T00:00:00Z' };

export const identifiers: Section = (stage) => {
  describe('decisions §1: source_id is 1..256 of a set of characters, echoed unchanged, case-sensitive', () => {
    it.each([
      ['one character', (run: string) => run.slice(-1)],
      ['all that is allowed', (run: string) => `A0.b_c:d@e+f-G${run}`],
      ['a digit first', (run: string) => `9${run}`],
      ['256 characters', (run: string) => run.padEnd(256, 'x')],
      ['dots at its end', (run: string) => `${run}..`],
      ['the name of a route', (run: string) => `metrics${run}`],
    ])('%s', async (_, make) => {
      const id = make(stage().run);
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, timestamp: at }] });
      await stage().reads<DeviceJson>(id, '', (device) => expect(device.source_id).toBe(id));
      await stage().reads<string[]>(id, '/metrics', (names) => expect(names).toContain('m'));
      await stage().finds<{ devices: DeviceJson[] }>('/v1/sources', ({ devices }) =>
        expect(devices.map(({ source_id }) => source_id)).toContain(id),
      );
    });

    it('two ids that differ in case are two sources', async () => {
      const [lower, upper] = [stage().id('case-a'), stage().id('case-A')];
      await stage().own.accepted({
        points: [lower, upper].map((source_id) => ({ source_id, metric: source_id, value: 1, timestamp: at })),
      });
      for (const id of [lower, upper]) await stage().reads(id, '/metrics', (names) => expect(names).toEqual([id]));
    });

    const bad = [
      '',
      '.a',
      '-a',
      '_a',
      ':a',
      '@a',
      '+a',
      'a b',
      ' a',
      'a ',
      'a/b',
      'a\\b',
      'a,b',
      'a%20b',
      'ä',
      'a\u0000',
      'a\n',
      '😀',
      'a'.repeat(257),
    ];
    it.each(bad)('%j is refused in a body', async (id) => {
      problem(await stage().own.ingest({ source_id: id, points: [{ metric: 'm', value: 1 }] }), 400);
      problem(await stage().own.ingest({ points: [{ source_id: id, metric: 'm', value: 1 }] }), 400, 'invalid_points');
    });

    const inPath = [
      '-a',
      '.a',
      'a%20b',
      '%20',
      '..%2f',
      '..%2F..%2Fetc',
      'a%2Fb',
      '%00',
      'a%00',
      '%c0%af',
      '%E4',
      '%ff',
      '%',
      'a%zz',
      '%C3%A4',
      'a,b',
      'a'.repeat(257),
    ];
    it.each(inPath.flatMap((id) => ['', '/metrics', '/metrics/latest', '/metrics/query', '/logs'].map((rest) => `${id}${rest}`)))(
      'GET /v1/sources/%s is 400',
      async (path) => {
        problem(await stage().own.ask({ path: `/v1/sources/${path}` }), 400);
      },
    );

    it('an encoded id is the same id', async () => {
      const id = stage().id('a+b@c:d');
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, timestamp: at }] });
      await stage().reads(id, '/metrics', (names) => expect(names).toEqual(['m']));
      await stage().finds(`/v1/sources/${encodeURIComponent(id)}/metrics`, (names) => expect(names).toEqual(['m']));
    });
  });

  describe('decisions §1: a metric is any Unicode of 1..256 bytes but NUL and lone surrogates', () => {
    const odd = [
      'm',
      'motor.temperature',
      'with space',
      ' ',
      'comma,comma',
      `'); DROP TABLE points;--`,
      `quotes ' " \``,
      'line\nfeed\ttab\r',
      '\u0001\u001f\u007f\u0080',
      'héäß∑',
      '🌡️😀',
      '%2C %00 %',
      'a/b?c=d&e#f',
      '{"json":[1]}',
      '\u2028\u2029\ufeff\ufffe',
      '\ue000\u{10ffff}',
      'null',
      '__proto__',
      '0',
      '-1',
      'x'.repeat(256),
      'é'.repeat(128),
      '😀'.repeat(64),
    ];

    const id = (): string => stage().id('odd-metrics');
    beforeAll(async () => {
      const points = odd.flatMap((metric, value) => [
        { metric, value, timestamp: Date.now() },
        { metric, value, timestamp: at },
        { metric, value: `event ${value}`, class: 'event', timestamp: at },
      ]);
      await stage().own.accepted({ source_id: id(), points });
    });

    it('all these names are stored and read back unchanged, by every endpoint', async () => {
      await stage().reads<string[]>(id(), '/metrics', (names) => expect(names.toSorted()).toEqual(odd.toSorted()));
      await stage().reads<{ metrics: Record<string, number> }>(id(), '/metrics/latest', ({ metrics }) =>
        expect(new Map(Object.entries(metrics))).toEqual(new Map(odd.map((metric, value) => [metric, value]))),
      );
      await stage().reads<QueryJson>(id(), `/metrics/query${query({ ...window, interval: 'raw' })}`, ({ series }) =>
        expect(Object.keys(series).toSorted()).toEqual(odd.toSorted()),
      );
      await stage().reads<EntryJson[]>(id(), '/logs?tail=1000', (entries) => expect(entries.map(({ metric }) => metric)).toEqual(odd));
    });

    it.each(odd.map((metric, value) => [metric, value] as const))('%j can be asked for alone', async (metric, value) => {
      // The blank alone is a name that no list can hold: there its blanks are dropped.
      const list = metric === ' ' ? '' : `&metrics=${metricList([metric])}`;
      await stage().reads<QueryJson>(id(), `/metrics/query${query({ ...window, interval: 'raw' })}${list}`, ({ series }) => {
        expect(series[metric]).toEqual({ timestamp_ms: [at], value: [value] });
        expect(list ? Object.keys(series) : [metric]).toEqual([metric]);
      });
      await stage().reads<EntryJson[]>(id(), `/logs${query({ tail: 10, name: metric })}`, (entries) =>
        expect(entries).toEqual([{ timestamp_ms: at, metric, value: `event ${value}`, tags: {} }]),
      );
      await stage().finds<FleetJson>(`/v1/fleet/metrics${query({ metric, ...window })}`, (fleet) => {
        expect(fleet.metric).toBe(metric);
        expect(fleet.sources.find(({ source_id }) => source_id === id())).toMatchObject({ min: [value], count: [1] });
      });
    });

    it.each([
      ['empty', '""'],
      ['a NUL', '"a\\u0000b"'],
      ['a lone high surrogate', '"a\\ud83d"'],
      ['a lone low surrogate', '"\\ude00a"'],
      ['257 bytes', JSON.stringify('x'.repeat(257))],
      ['128 letters of two bytes and one more', JSON.stringify(`${'é'.repeat(128)}x`)],
    ])('%s is 400', async (_, metric) => {
      const bodies = [`{"metric":${metric},"value":1}`, `{"metric":${metric},"value":"x","class":"event"}`];
      for (const point of bodies) {
        const { errors: flaws = [] } = problem(await stage().own.ingest(`{"source_id":"a","points":[${point}]}`), 400, 'invalid_points');
        expect(flaws.map(({ pointer }) => pointer)).toEqual(['/points/0/metric']);
      }
    });
  });

  describe('decisions §1: at most 16 tags, key and value at most 256 bytes each, strings only', () => {
    const tags = (count: number, key = 't', value = 'v'): Record<string, string> =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [key.slice(0, -2) + String(n).padStart(2, '0'), value]));

    it.each([
      ['none', {}],
      ['16', tags(16, 'tag')],
      ['keys and values of 256 bytes', tags(2, 'k'.repeat(256), 'é'.repeat(128))],
      ['empty key and value', { '': '' }],
      ['odd characters', { 'a b\n"\'=,': '; --\u0000😀', ü: 'ü' }],
    ])('%s', async (what, sent) => {
      const id = stage().id(`tags-${what.replaceAll(' ', '-')}`);
      await stage().own.accepted({ source_id: id, points: [{ metric: 'e', class: 'event', value: 'x', timestamp: at, tags: sent }] });
      await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 1, timestamp: at, tags: sent }] });
      await stage().reads<EntryJson[]>(id, '/logs?tail=1', (entries) =>
        expect(entries).toEqual([{ timestamp_ms: at, metric: 'e', value: 'x', tags: sent }]),
      );
    });

    it.each([
      ['17 tags', tags(17)],
      ['a key of 257 bytes', { ['k'.repeat(257)]: 'v' }],
      ['a value of 257 bytes', { k: 'v'.repeat(257) }],
      ['a value of 129 letters of two bytes', { k: 'é'.repeat(129) }],
      ['a number', { k: 1 }],
      ['null', { k: null }],
      ['an object', { k: {} }],
    ])('%s: 400', async (_, bad) => {
      const answer = await stage().own.ingest({ source_id: 'a', points: [{ metric: 'm', value: 1, tags: bad }] });
      const { errors: flaws = [] } = problem(answer, 400, 'invalid_points');
      expect(flaws.map(({ pointer }) => pointer)).toEqual([expect.stringMatching(/^\/points\/0\/tags/)]);
    });
  });
};
