import { describe, expect, it } from '@jest/globals';
import type { FleetJson, QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const at = Date.UTC(2024, 4, 5, 6, 7, 8);
const hour = Date.UTC(2024, 4, 5, 6);
const window = 'start=2024-05-05T00:00:00Z&end=2024-05-06T00:00:00Z';

export const tags: Section = (stage) => {
  const send = (source_id: string, ...points: readonly object[]): Promise<unknown> => stage().own.accepted({ source_id, points });
  const core = (name: string, value: number, timestamp = at): object => ({ metric: 'cpu.usage', value, timestamp, tags: { core: name } });
  const raw = (id: string, attempt: (series: unknown) => void): Promise<unknown> =>
    stage().reads<QueryJson>(id, `/metrics/query?interval=raw&${window}`, ({ series }) => attempt(series['cpu.usage']));
  const hours = (id: string, attempt: (series: unknown) => void): Promise<unknown> =>
    stage().reads<QueryJson>(id, `/metrics/query?interval=1h&${window}`, ({ series }) => attempt(series['cpu.usage']));
  const rows = (timestamps: readonly number[], value: readonly number[]): object => ({ timestamp_ms: timestamps, value });
  const bucket = (min: number, max: number, avg: number, count: number): object => ({
    timestamp_ms: [hour],
    min: [min],
    max: [max],
    avg: [avg],
    count: [count],
  });

  describe('decisions §3: a metric point is identified by source, metric, timestamp and tags', () => {
    it('points that differ in tags only are all there: raw rows ordered by time and tags, none first, and one bucket over all', async () => {
      const id = stage().id('tags-cores');
      await send(id, core('1', 30), core('0', 10), core('0', 5, at + 1), { metric: 'cpu.usage', value: 20, timestamp: at });
      await raw(id, (series) => expect(series).toEqual(rows([at, at, at, at + 1], [20, 10, 30, 5])));
      await hours(id, (series) => expect(series).toEqual(bucket(5, 30, 65 / 4, 4)));
      await stage().reads<QueryJson>(id, `/metrics/query?interval=1m&${window}`, ({ series }) =>
        expect(series['cpu.usage']).toMatchObject({ count: [4] }),
      );
    });

    it('sending them again changes nothing, and another value for one of them replaces only that', async () => {
      const id = stage().id('tags-again');
      await send(id, core('0', 10), core('1', 30));
      await send(id, core('1', 30), core('0', 10));
      await send(id, core('0', 10));
      await hours(id, (series) => expect(series).toEqual(bucket(10, 30, 20, 2)));
      await raw(id, (series) => expect(series).toEqual(rows([at, at], [10, 30])));
      await send(id, core('0', 50), core('0', 40));
      await hours(id, (series) => expect(series).toEqual(bucket(30, 40, 35, 2)));
      await raw(id, (series) => expect(series).toEqual(rows([at, at], [40, 30])));
    });

    it('raw series have the tags of each point where they are asked for, and buckets have none', async () => {
      const id = stage().id('tags-asked');
      await send(id, core('1', 30), { metric: 'cpu.usage', value: 20, timestamp: at }, { ...core('é"', 5, at + 1), metric: 'b' });
      const tagged = (value: string, interval: string, attempt: (series: unknown) => void): Promise<unknown> =>
        stage().reads<QueryJson>(id, `/metrics/query?tags=${value}&interval=${interval}&${window}`, ({ series }) => attempt(series));
      const untagged = { b: rows([at + 1], [5]), 'cpu.usage': rows([at, at], [20, 30]) };
      await tagged('0', 'raw', (series) => expect(series).toEqual(untagged));
      await tagged('1', 'raw', (series) =>
        expect(series).toEqual({
          b: { ...untagged.b, tags: [{ core: 'é"' }] },
          'cpu.usage': { ...untagged['cpu.usage'], tags: [{}, { core: '1' }] },
        }),
      );
      await tagged('1', '1h', (series) => expect(series).toMatchObject({ 'cpu.usage': bucket(20, 30, 25, 2) }));
      problem(await stage().own.ask({ path: `/v1/sources/${id}/metrics/query?tags=yes&${window}` }), 400, 'invalid_parameter');
    });

    it('the order of the keys of tags means nothing', async () => {
      const id = stage().id('tags-keys');
      const point = { metric: 'cpu.usage', timestamp: at };
      await send(id, { ...point, value: 1, tags: { a: '1', b: '2' } }, { ...point, value: 2, tags: { b: '2', a: '1' } });
      await raw(id, (series) => expect(series).toEqual(rows([at], [2])));
      await hours(id, (series) => expect(series).toEqual(bucket(2, 2, 2, 1)));
    });

    it('latest takes the last of them by tags, and the fleet counts all of them', async () => {
      const id = stage().id('tags-latest');
      const now = Date.now() - 1000;
      const metric = `tags.${stage().run}`;
      const point = { metric, timestamp: now };
      await send(id, { ...point, value: 3, tags: { core: '10' } }, { ...point, value: 4, tags: { core: '2' } }, { ...point, value: 5 });
      await stage().reads(id, '/metrics/latest', (latest) => expect(latest).toEqual({ metrics: { [metric]: 4 } }));
      await stage().finds<FleetJson>(`/v1/fleet/metrics?metric=${metric}`, ({ sources }) =>
        expect(sources).toMatchObject([{ source_id: id, min: [3], max: [5], count: [3] }]),
      );
    });

    it('of more than 10,000 points of one time the first 10,000 are answered', async () => {
      const id = stage().id('tags-many');
      const cell = (n: number): string => String(n).padStart(5, '0');
      const cells = Array.from({ length: 10_002 }, (_, n) => ({ ...core('', n), tags: { cell: cell(n) } })).toReversed();
      await send(id, ...cells.slice(0, 10_000));
      await send(id, ...cells.slice(9_000));
      await stage().finds<QueryJson>(`/v1/sources/${id}/metrics/query?interval=raw&${window}`, ({ series, truncated }) => {
        expect(truncated).toBe(true);
        expect(series['cpu.usage']).toEqual({ timestamp_ms: Array.from({ length: 10_000 }, () => at), value: [...Array(10_000).keys()] });
      });
      await hours(id, (series) => expect(series).toEqual(bucket(0, 10_001, 10_001 / 2, 10_002)));
    });
  });
};
