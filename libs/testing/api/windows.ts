import { beforeAll, describe, expect, it } from '@jest/globals';
import type { EntryJson, FleetJson, QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const minuteMs = 60_000;

export const windows: Section = (stage) => {
  const id = (): string => stage().id('windows');
  const metric = (): string => `windowed.${stage().run}`;
  const query = (window: string): string => `/v1/sources/${id()}/metrics/query?${window}`;
  const fleet = (window: string): string => `/v1/fleet/metrics?metric=${metric()}&${window}`;
  const logs = (window: string): string => `/v1/sources/${id()}/logs?${window}`;

  describe('decisions §4: what is no window is 400 on every windowed endpoint', () => {
    const bad: readonly (readonly [what: string, window: string])[] = [
      ['an unknown unit', 'last=5w'],
      ['seconds', 'last=30s'],
      ['a capital unit', 'last=5M'],
      ['zero minutes', 'last=0m'],
      ['zero hours', 'last=0h'],
      ['negative', 'last=-1h'],
      ['a plus sign', 'last=%2B1h'],
      ['a fraction', 'last=1.5h'],
      ['no unit', 'last=10'],
      ['no number', 'last=h'],
      ['empty', 'last='],
      ['two units', 'last=1h30m'],
      ['a space', 'last=1%20h'],
      ['an exponent', 'last=1e3h'],
      ['400 digits', `last=${'9'.repeat(400)}h`],
      ['start alone', 'start=2024-01-01T00:00:00Z'],
      ['end alone', 'end=2024-01-01T00:00:00Z'],
      ['start = end', 'start=2024-01-01T00:00:00Z&end=2024-01-01T00:00:00Z'],
      ['start > end', 'start=2024-01-02T00:00:00Z&end=2024-01-01T00:00:00Z'],
      ['words', 'start=yesterday&end=today'],
      ['Unix milliseconds', 'start=1704067200000&end=1704070800000'],
      ['month 13', 'start=2024-13-01T00:00:00Z&end=2025-01-01T00:00:00Z'],
      ['30 February', 'start=2024-02-30T00:00:00Z&end=2025-01-01T00:00:00Z'],
      ['hour 25', 'start=2024-01-01T25:00:00Z&end=2025-01-01T00:00:00Z'],
      ['minute 60', 'start=2024-01-01T00:60:00Z&end=2025-01-01T00:00:00Z'],
      ['an American date', 'start=01/02/2024&end=01/03/2024'],
      ['an RFC 2822 date', 'start=Mon,%2001%20Jan%202024%2000:00:00%20GMT&end=2025-01-01T00:00:00Z'],
      ['empty times', 'start=&end='],
      ['something after it', 'start=2024-01-01T00:00:00Zx&end=2025-01-01T00:00:00Z'],
    ];
    it.each(bad)('%s', async (_, window) => {
      for (const path of [query(window), fleet(window), logs(window)]) problem(await stage().own.ask({ path }), 400, 'invalid_window');
    });
  });

  describe('windows are start ≤ t < end; ISO 8601 with an offset, without one it is UTC', () => {
    const day = Date.UTC(2024, 0, 1);
    const times = [-1, 0, 1, 2 * minuteMs, 5 * minuteMs - 1, 5 * minuteMs].map((offset) => day + offset);
    const all = times.map((time) => time - day);
    const inside = [0, 1, 2 * minuteMs, 5 * minuteMs - 1];
    beforeAll(async () => {
      const points = times.flatMap((timestamp) => [
        { metric: metric(), value: timestamp - day, timestamp },
        { metric: 'e', class: 'event', value: `${timestamp - day}`, timestamp },
      ]);
      await stage().own.accepted({ source_id: id(), points });
    });

    it.each([
      ['to the millisecond', 'start=2024-01-01T00:00:00.000Z&end=2024-01-01T00:05:00.000Z', inside],
      ['to the second', 'start=2024-01-01T00:00:00Z&end=2024-01-01T00:05:00Z', inside],
      ['to the minute', 'start=2024-01-01T00:00Z&end=2024-01-01T00:05Z', inside],
      ['one millisecond later', 'start=2024-01-01T00:00:00.001Z&end=2024-01-01T00:05:00.001Z', all.slice(2)],
      ['with an offset east', 'start=2024-01-01T02:00:00%2B02:00&end=2024-01-01T02:05:00%2B02:00', inside],
      ['with an offset west', 'start=2023-12-31T19:00:00-05:00&end=2023-12-31T19:05:00-05:00', inside],
      ['with half an hour of offset', 'start=2024-01-01T05:30:00%2B05:30&end=2024-01-01T05:35:00%2B05:30', inside],
      ['start and end with different offsets', 'start=2024-01-01T01:00:00%2B01:00&end=2024-01-01T00:05:00Z', inside],
      ['without an offset', 'start=2024-01-01T00:00:00&end=2024-01-01T00:05:00', inside],
      ['in the basic form', 'start=20240101T000000Z&end=20240101T000500Z', inside],
      ['with hours alone', 'start=2024-01-01T00&end=2024-01-01T00:05', inside],
      ['as week dates', 'start=2024-W01-1T00:00Z&end=2024W011T0005Z', inside],
      ['as ordinal dates', 'start=2024-001&end=2024001T0005', inside],
      ['with a blank for the T, as forms write it', 'start=2024-01-01+00:00:00&end=2024-01-01%2000:05:00', inside],
      ['with a plus that came as a blank', 'start=2024-01-01T02:00%2002:00&end=2024-01-01T02:05+02:00', inside],
      ['with 20 decimals', `start=2024-01-01T00:00:00.${'0'.repeat(20)}&end=2024-01-01T00:05:00,${'0'.repeat(20)}Z`, inside],
      ['in encoded parameters', '%73tart=2024-01-01T00:00Z&en%64=2024-01-01T00:05Z', inside],
      ['without an offset, with milliseconds', 'start=2024-01-01T00:00:00.000&end=2024-01-01T00:05:00.000', inside],
    ])('%s', async (_, window, expected) => {
      await stage().reads<QueryJson>(id(), `/metrics/query?interval=raw&${window}`, ({ series }) =>
        expect(series[metric()]?.value).toEqual(expected),
      );
      await stage().reads<EntryJson[]>(id(), `/logs?${window}`, (entries) =>
        expect(entries.map(({ value }) => Number(value))).toEqual(expected),
      );
      // A bucket belongs to the window when its start does: what lies behind the window's end in the last one counts too.
      await stage().finds<FleetJson>(fleet(window), ({ sources }) => expect(sources.map(({ source_id }) => source_id)).toEqual([id()]));
    });

    it('last reaches as far back as the calendar', async () => {
      await stage().reads<EntryJson[]>(id(), '/logs?last=700000d', (entries) => expect(entries).toHaveLength(times.length));
    });

    it('§4.8 rule 1: last beats start and end, with no error, on every windowed endpoint', async () => {
      const both = 'last=30m&start=2024-01-01T00:00:00Z&end=2024-01-01T00:05:00Z';
      await stage().reads<QueryJson>(id(), `/metrics/query?${both}`, ({ interval, series }) =>
        expect([interval, series]).toEqual(['1m', {}]),
      );
      await stage().reads<EntryJson[]>(id(), `/logs?${both}`, (entries) => expect(entries).toEqual([]));
      expect(await stage().own.json<FleetJson>(fleet(both))).toMatchObject({ sources: [], sources_w_metric: 0 });
      await stage().reads<EntryJson[]>(id(), '/logs?last=30m&start=nonsense', (entries) => expect(entries).toEqual([]));
      problem(await stage().own.ask({ path: logs('last=5w&start=2024-01-01T00:00:00Z&end=2024-01-01T00:05:00Z') }), 400, 'invalid_window');
    });
  });

  describe('neither last nor start and end means the last hour, on every windowed endpoint', () => {
    it.each(['', 'last=1h', 'last=60m'])('"%s"', async (window) => {
      const source = stage().id(`hour-${window.length}`);
      const name = `hour.${window}.${stage().run}`;
      const now = Date.now();
      const times = [now - 70 * minuteMs, now - 50 * minuteMs, now - minuteMs];
      const points = times.flatMap((timestamp, value) => [
        { metric: name, value, timestamp },
        { metric: 'e', class: 'event', value: String(value), timestamp },
      ]);
      await stage().own.accepted({ source_id: source, points });
      await stage().reads<QueryJson>(source, `/metrics/query?${window}`, ({ interval, auto_downsampled: auto, series }) =>
        expect([interval, auto, series[name]?.avg]).toEqual(['1m', true, [1, 2]]),
      );
      await stage().reads<EntryJson[]>(source, `/logs?${window}`, (entries) =>
        expect(entries.map(({ value }) => value)).toEqual(['1', '2']),
      );
      await stage().finds<FleetJson>(`/v1/fleet/metrics?metric=${name}&${window}`, ({ interval, sources }) =>
        expect([interval, sources.map(({ avg }) => avg)]).toEqual(['1m', [[1, 2]]]),
      );
    });
  });

  describe('the automatic interval: raw under 10 minutes, else the one with a number of buckets nearest to 1,000 in ratio', () => {
    const rows: readonly (readonly [window: string, interval: string])[] = [
      ['last=1m', 'raw'],
      ['last=9m', 'raw'],
      ['last=10m', '1m'],
      ['last=1h', '1m'],
      ['last=24h', '1m'],
      ['last=1d', '1m'],
      ['last=3162m', '1m'],
      ['last=3163m', '10m'],
      ['last=7d', '10m'],
      ['last=24494m', '10m'],
      ['last=24495m', '1h'],
      ['last=30d', '1h'],
      ['last=293938m', '1h'],
      ['last=293939m', '1d'],
      ['last=365d', '1d'],
      ['last=3650d', '1d'],
      ['start=2024-01-01T00:00:00Z&end=2024-01-01T00:09:59.999Z', 'raw'],
      ['start=2024-01-01T00:00:00Z&end=2024-01-01T00:10:00Z', '1m'],
      ['start=2024-01-01T00:00:00Z&end=2024-01-08T00:00:00Z', '10m'],
      ['start=2024-01-01T00:00:00Z&end=2024-01-31T00:00:00Z', '1h'],
      ['start=2023-01-01T00:00:00Z&end=2024-01-01T00:00:00Z', '1d'],
    ];
    it.each(rows)('%s → %s, fleet never finer than 1m', async (window, interval) => {
      const answer = await stage().own.json<QueryJson>(query(window));
      expect([answer.interval, answer.auto_downsampled]).toEqual([interval, interval !== 'raw']);
      const ofFleet = await stage().own.json<FleetJson>(fleet(window));
      expect(ofFleet.interval).toBe(interval === 'raw' ? '1m' : interval);
    });
  });
};
