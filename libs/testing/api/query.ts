import { beforeAll, describe, expect, it } from '@jest/globals';
import { difference, rowsIn } from '../exactness/compare.js';
import { intervals, rowsOf, untagged } from '../exactness/fold.js';
import type { QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const day = Date.UTC(2024, 2, 10);
const window = 'start=2024-03-10T00:00:00Z&end=2024-03-12T00:00:00Z';
const minuteMs = 60_000;

export const historicalQuery: Section = (stage) => {
  const id = (): string => stage().id('query');
  const a = new Map<number, number>([
    [day - 1, 100],
    [day, 1],
    [day + 1, -2],
    [day + 30_000, 3.5],
    [day + minuteMs, 4],
    [day + 11 * minuteMs, 5],
    [day + 61 * minuteMs, 1e300],
    [day + 25 * 60 * minuteMs, 7],
  ]);
  const b = new Map<number, number>([
    [day, 0.1],
    [day + 1, 0.2],
  ]);
  const comma = new Map<number, number>([[day + 5, 8]]);
  const world = new Map([
    ['a', a],
    ['b', b],
    ['c,d', comma],
  ]);
  beforeAll(async () => {
    const points = [...world].flatMap(([metric, series]) => [...series].map(([timestamp, value]) => ({ metric, timestamp, value })));
    await stage().own.accepted({ source_id: id(), points: [...points, { metric: 'event', class: 'event', value: 1, timestamp: day }] });
  });

  describe('§4.7: every interval equals the fold over the points', () => {
    it.each(intervals)('interval=%s', async (interval) => {
      const expected = rowsOf(untagged(world), interval, day, day + 48 * 60 * minuteMs);
      await stage().reads<QueryJson>(id(), `/metrics/query?${window}&interval=${interval}`, (answer) => {
        expect(difference(rowsIn(answer.series, interval === 'raw' ? 'raw' : 'bucket'), expected)).toBeUndefined();
        expect(answer).toMatchObject({ interval, auto_downsampled: false, truncated: false });
      });
    });

    it('a raw series has timestamp_ms and value, an aggregated one timestamp_ms, min, max, avg, count, and nothing else', async () => {
      await stage().reads<QueryJson>(id(), `/metrics/query?${window}&interval=raw&metrics=b`, ({ series }) =>
        expect(series).toEqual({ b: { timestamp_ms: [day, day + 1], value: [0.1, 0.2] } }),
      );
      await stage().reads<QueryJson>(id(), `/metrics/query?${window}&interval=1h&metrics=a`, ({ series }) =>
        expect(series).toEqual({
          a: {
            timestamp_ms: [day, day + 60 * minuteMs, day + 25 * 60 * minuteMs],
            min: [-2, 1e300, 7],
            max: [5, 1e300, 7],
            avg: [expect.closeTo(11.5 / 5, 12), 1e300, 7],
            count: [5, 1, 1],
          },
        }),
      );
    });

    it.each(['5m', 'RAW', '1M', '60m', '1w', '', 'raw,1m', '1h '])('interval="%s" is 400 and names the five', async (interval) => {
      const { detail } = problem(
        await stage().own.ask({ path: `/v1/sources/${id()}/metrics/query?interval=${encodeURIComponent(interval)}` }),
        400,
        'invalid_interval',
      );
      for (const name of intervals) expect(detail).toContain(name);
    });

    it('rules 1 and 2: a short window is raw by itself, a longer one is downsampled by itself and says so', async () => {
      const short = 'start=2024-03-10T00:00:00Z&end=2024-03-10T00:09:00Z';
      await stage().reads<QueryJson>(id(), `/metrics/query?${short}`, (answer) =>
        expect(answer).toMatchObject({ interval: 'raw', auto_downsampled: false, series: { a: { value: [1, -2, 3.5, 4] } } }),
      );
      await stage().reads<QueryJson>(id(), `/metrics/query?${window}`, (answer) =>
        expect(answer).toMatchObject({ interval: '1m', auto_downsampled: true, series: { b: { count: [2] } } }),
      );
    });
  });

  describe('decisions §4: buckets are UTC-aligned; one belongs to the window when its start does; the start of the window is floored', () => {
    it.each([
      ['1m', '00:00:59.999Z', '00:01:00.001Z', [0, 1], [3, 1]],
      ['1m', '00:00:30Z', '00:01:00Z', [0], [3]],
      ['10m', '00:05:00Z', '00:10:00Z', [0], [4]],
      ['10m', '00:05:00Z', '00:10:00.001Z', [0, 10], [4, 1]],
      ['1h', '00:59:59Z', '01:00:00Z', [0], [5]],
      ['1d', '23:59:59.998Z', '23:59:59.999Z', [0], [6]],
    ])('%s from %s to %s', async (interval, from, to, minutes, counts) => {
      const part = `start=2024-03-10T${from}&end=2024-03-10T${to}&interval=${interval}&metrics=a`;
      await stage().reads<QueryJson>(id(), `/metrics/query?${part}`, ({ series }) =>
        expect(series['a']).toMatchObject({ timestamp_ms: minutes.map((minute) => day + minute * minuteMs), count: counts }),
      );
    });
  });

  describe('metrics: a list with commas, default all', () => {
    it.each([
      ['all', '', ['a', 'b', 'c,d']],
      ['one', '&metrics=b', ['b']],
      ['two', '&metrics=b,a', ['a', 'b']],
      ['one twice', '&metrics=b,b', ['b']],
      ['two with an encoded comma between, as clients send them', '&metrics=b%2Ca', ['a', 'b']],
      ['two with blanks around', '&metrics=+b%20,%20a+', ['a', 'b']],
      ['one with a comma in its name', '&metrics=c%5C,d', ['c,d']],
      ['one with a comma and another, all encoded', '&metrics=c%5C%2Cd%2Ca', ['a', 'c,d']],
      ['the parameter twice', '&metrics=b&metrics=c%5C%2Cd', ['b', 'c,d']],
      ['an encoded letter', '&metrics=%61', ['a']],
      ['an encoded parameter', '&%6Detrics=a', ['a']],
      ['one that nobody sent', '&metrics=nobody', []],
      ['the name of an event', '&metrics=event', []],
      ['1,000 names, one of them known', `&metrics=${Array.from({ length: 999 }, (_, n) => `m${n}`).join(',')},a`, ['a']],
    ])('%s', async (_, metrics, expected) => {
      await stage().reads<QueryJson>(id(), `/metrics/query?${window}&interval=1d${metrics}`, ({ series }) => {
        const named = Object.entries(series).filter(([, columns]) => columns.timestamp_ms.length > 0);
        expect(named.map(([name]) => name).toSorted()).toEqual(expected);
      });
    });

    it.each(['%00', '%ed%a0%80', 'x'.repeat(257)])('metrics=%s is 400', async (name) => {
      problem(await stage().own.ask({ path: `/v1/sources/${id()}/metrics/query?metrics=${name}` }), 400);
    });
  });

  it('decisions §4: an average is right where the sum is beyond the largest double', async () => {
    const source = stage().id('huge');
    const huge = [1e308, 1e308, 1.6e308].map((value, n) => ({ metric: 'm', value, timestamp: day + n }));
    await stage().own.accepted({ source_id: source, points: huge });
    await stage().reads<QueryJson>(source, `/metrics/query?${window}&interval=1h`, ({ series }) =>
      expect(series['m']).toMatchObject({ min: [1e308], max: [1.6e308], count: [3], avg: [expect.closeTo(1.2e308, -299)] }),
    );
  });

  it('numbers come back as the doubles that they are', async () => {
    const source = stage().id('doubles');
    const values = [
      0,
      1,
      -1,
      0.1 + 0.2,
      1 / 3,
      5e-324,
      Number.MAX_VALUE,
      -Number.MAX_VALUE,
      Number.MAX_SAFE_INTEGER,
      2 ** 53 + 2,
      1e21,
      1e-7,
      123456789.12345679,
    ];
    const texts = ['-0', '1E2', '0.10000000000000000000001', '123456789012345678901234567890'];
    const points = [...values.map((value) => JSON.stringify(value)), ...texts].map(
      (value, n) => `{"metric":"m","value":${value},"timestamp":${day + n}}`,
    );
    await stage().own.accepted(`{"source_id":"${source}","points":[${points.join()}]}`);
    await stage().reads<QueryJson>(source, `/metrics/query?${window}&interval=raw`, ({ series }) =>
      expect(series['m']?.value?.map((value) => value + 0)).toEqual([...values, 0, 100, 0.1, 123456789012345680000000000000]),
    );
  });

  it('§9, decisions §4: a source that nobody has gives no series', async () => {
    expect(await stage().own.json(`/v1/sources/${stage().id('nobody')}/metrics/query?last=1h`)).toEqual({
      interval: '1m',
      auto_downsampled: true,
      series: {},
      truncated: false,
    });
  });
};
