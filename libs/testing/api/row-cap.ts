import { beforeAll, describe, expect, it } from '@jest/globals';
import { difference, rowsIn } from '../exactness/compare.js';
import { rowCap, rowsOf, untagged, type AnswerRow } from '../exactness/fold.js';
import type { ColumnsJson, FleetJson, QueryJson } from '../http/client.js';
import type { Section } from './stage.js';

const minuteMs = 60_000;
const begin = Date.UTC(2024, 3, 1);
const iso = (timeMs: number): string => new Date(timeMs).toISOString();
const pastEnd = begin + 60 * 24 * 60 * minuteMs;

const lastMs = (series: Readonly<Record<string, ColumnsJson>>): number =>
  Math.max(...Object.values(series).map((columns) => columns.timestamp_ms.at(-1) ?? 0));

export const rowCaps: Section = (stage) => {
  describe('§8 and decisions §4: 10,000 rows over all series together, the first by (time, metric)', () => {
    const id = (): string => stage().id('cap');
    // Three series with minutes of their own: 4,000 + 4,000 + 3,000 rows, in raw and at 1m alike.
    const series = new Map(
      [
        ['b', 4000, 0],
        ['a', 4000, 0],
        ['z', 3000, 500],
      ].map(([name, count, skip]): [string, Map<number, number>] => [
        name as string,
        new Map(Array.from({ length: count as number }, (_, n) => [begin + (n + (skip as number)) * minuteMs, n])),
      ]),
    );
    beforeAll(async () => {
      for (const [metric, points] of series)
        await stage().own.accepted({ source_id: id(), points: [...points].map(([timestamp, value]) => ({ metric, timestamp, value })) });
    });

    it.each(['raw', '1m'] as const)(
      '%s: the first 10,000 are kept, truncated says so, and asking again from the last time gives the rest',
      async (interval) => {
        const kind = interval === 'raw' ? 'raw' : 'bucket';
        const expected = rowsOf(untagged(series), interval, begin, pastEnd);
        expect(expected).toHaveLength(11_000);
        const first = await stage().reads<QueryJson>(
          id(),
          `/metrics/query?start=${iso(begin)}&end=${iso(pastEnd)}&interval=${interval}`,
          (answer) => {
            expect(difference(rowsIn(answer.series, kind), expected.slice(0, rowCap))).toBeUndefined();
            expect(answer.truncated).toBe(true);
          },
        );
        const last = lastMs(first.series);
        const left = expected.filter(({ timestampMs }) => timestampMs >= last);
        await stage().finds<QueryJson>(
          `/v1/sources/${id()}/metrics/query?start=${iso(last)}&end=${iso(pastEnd)}&interval=${interval}`,
          (rest) => {
            expect(rest.truncated).toBe(false);
            expect(difference(rowsIn(rest.series, kind), left)).toBeUndefined();
          },
        );
      },
    );

    it('at the cap itself: 10,000 rows are whole, 10,001 are truncated', async () => {
      const source = stage().id('cap-exact');
      const points = Array.from({ length: 10_001 }, (_, n) => ({ metric: 'm', value: n, timestamp: begin + n * minuteMs }));
      await stage().own.accepted({ source_id: source, points: points.slice(0, 10_000) });
      await stage().own.accepted({ source_id: source, points: points.slice(10_000) });
      for (const interval of ['raw', '1m']) {
        for (const [end, rows, truncated] of [
          [begin + 9999 * minuteMs, 9999, false],
          [begin + 10_000 * minuteMs, 10_000, false],
          [begin + 10_001 * minuteMs, 10_000, true],
        ] as const) {
          await stage().reads<QueryJson>(source, `/metrics/query?start=${iso(begin)}&end=${iso(end)}&interval=${interval}`, (answer) =>
            expect([answer.series['m']?.timestamp_ms.length, answer.truncated]).toEqual([rows, truncated]),
          );
        }
      }
    });

    it('§4.7 rule 4: a coarser interval has fewer rows', async () => {
      const path = `/v1/sources/${id()}/metrics/query?start=${iso(begin)}&end=${iso(pastEnd)}&interval=10m`;
      await stage().finds<QueryJson>(path, (answer) => {
        expect(answer.truncated).toBe(false);
        expect(difference(rowsIn(answer.series, 'bucket'), rowsOf(untagged(series), '10m', begin, pastEnd))).toBeUndefined();
      });
    });

    it('a raw window of ten years never has more than 10,000 rows', async () => {
      const path = `/v1/sources/${id()}/metrics/query?start=2016-01-01T00:00:00Z&end=2026-01-01T00:00:00Z&interval=raw`;
      await stage().finds<QueryJson>(path, (answer) =>
        expect([rowsIn(answer.series, 'raw').length, answer.truncated]).toEqual([rowCap, true]),
      );
    });
  });

  describe('§4.4 and decisions §4: the cap of fleet metrics, where every source with a bucket stays', () => {
    const metric = (): string => `capped.${stage().run}`;
    const sources = (): string[] => ['a', 'b', 'c', 'd'].map((name) => stage().id(`cap-${name}`));
    const late = (): string => stage().id('cap-late');
    const windowEnd = begin + 3000 * minuteMs;
    const path = (from = begin): string => `/v1/fleet/metrics?metric=${metric()}&start=${iso(from)}&end=${iso(windowEnd)}`;
    const world = (): Map<string, Map<number, number>> =>
      new Map([
        ...sources().map((name, at): [string, Map<number, number>] => [
          name,
          new Map(Array.from({ length: 3000 }, (_, n) => [begin + n * minuteMs, n + at])),
        ]),
        [late(), new Map([[windowEnd - 1, 5]])],
      ]);
    const rows = ({ sources: found }: FleetJson): AnswerRow[] =>
      rowsIn(
        Object.fromEntries(
          found.map(({ source_id, timestamp_ms, min, max, avg, count }) => [
            source_id,
            { timestamp_ms, min, max, avg, count } as ColumnsJson,
          ]),
        ),
        'bucket',
      );
    beforeAll(async () => {
      for (const [source_id, points] of world())
        await stage().own.accepted({
          source_id,
          points: [...points].map(([timestamp, value]) => ({ metric: metric(), timestamp, value })),
        });
      await stage().caughtUp(late());
    });

    it('the first 10,000 rows by (time, source) are kept', async () => {
      const expected = rowsOf(untagged(world()), '1m', begin, windowEnd);
      await stage().finds<FleetJson>(path(), (answer) => {
        expect([answer.interval, answer.truncated]).toEqual(['1m', true]);
        expect(difference(rows(answer), expected.slice(0, rowCap))).toBeUndefined();
      });
    });

    it('a source whose rows were all left out is there with empty arrays', async () => {
      await stage().finds<FleetJson>(path(), (answer) => {
        expect(answer.sources.map(({ source_id }) => source_id)).toEqual([...sources(), late()]);
        expect(answer.sources_w_metric).toBe(5);
        expect(answer.sources.at(-1)).toEqual({ source_id: late(), online: false, timestamp_ms: [], avg: [], min: [], max: [], count: [] });
      });
    });

    it('asking again from the last time gives the rest', async () => {
      const first = await stage().finds<FleetJson>(path(), ({ truncated }) => expect(truncated).toBe(true));
      const last = Math.max(...rows(first).map(({ timestampMs }) => timestampMs));
      await stage().finds<FleetJson>(path(last), (rest) => {
        expect(rest).toMatchObject({ interval: '1m', truncated: false });
        expect(difference(rows(rest), rowsOf(untagged(world()), '1m', last, windowEnd))).toBeUndefined();
      });
    });
  });
};
