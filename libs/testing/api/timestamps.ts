import { describe, expect, it } from '@jest/globals';
import type { EntryJson, QueryJson } from '../http/client.js';
import { problem, type Section } from './stage.js';

const all = 'start=1970-01-01T00:00:00Z&end=9999-12-31T23:59:59.999Z';

/** The clocks of the tests and of the service may differ by so much. */
const skewMs = 5000;

export const timestamps: Section = (stage) => {
  describe('decisions §1: the size of a time tells its unit', () => {
    const rows: readonly (readonly [sent: string, storedMs: number, what: string])[] = [
      ['1700000000', 1_700_000_000_000, 'seconds'],
      ['1700000000.25', 1_700_000_000_250, 'seconds with a fraction'],
      ['1', 1000, 'seconds in 1970'],
      ['0.5', 500, 'half a second'],
      ['999999999', 999_999_999_000, 'seconds in 2001'],
      ['2147483648', 2_147_483_648_000, 'seconds beyond 2038'],
      ['253402300798', 253_402_300_798_000, 'seconds at the end of year 9999'],
      ['1e12', 1_000_000_000_000, 'milliseconds from 1e12 on'],
      ['1700000000123', 1_700_000_000_123, 'milliseconds'],
      ['1700000000123.4', 1_700_000_000_123, 'milliseconds with a fraction, rounded down'],
      ['1700000000123.6', 1_700_000_000_124, 'milliseconds with a fraction, rounded up'],
      ['1.700000000123e12', 1_700_000_000_123, 'milliseconds with an exponent'],
      ['99999999999999', 99_999_999_999_999, 'milliseconds up to 1e14'],
      ['1e14', 100_000_000_000, 'microseconds from 1e14 on'],
      ['1700000000123456', 1_700_000_000_123, 'microseconds'],
      ['1700000000123987', 1_700_000_000_124, 'microseconds, rounded up'],
      ['1e17', 100_000_000_000, 'nanoseconds from 1e17 on'],
      ['1700000000123456789', 1_700_000_000_123, 'nanoseconds'],
      ['2.5e20', 250_000_000_000_000, 'nanoseconds in year 9892'],
    ];

    it.each(rows)('%s is %d: %s', async (sent, storedMs) => {
      const id = stage().id(`time-${sent}`);
      const point = (rest: string): string => `{"metric":"m","timestamp":${sent},${rest}}`;
      await stage().own.accepted(`{"source_id":"${id}","points":[${point('"value":1')},${point('"value":"e","class":"event"')}]}`);
      await stage().reads<QueryJson>(id, `/metrics/query?interval=raw&${all}`, ({ series }) =>
        expect(series).toEqual({ m: { timestamp_ms: [storedMs], value: [1] } }),
      );
      await stage().reads<EntryJson[]>(id, `/logs?${all}`, (entries) =>
        expect(entries.map((entry) => entry.timestamp_ms)).toEqual([storedMs]),
      );
    });

    it.each(['253402300800', '999999999999', '2.6e20', '1e21', '1.7e308'])('%s is past year 9999: 400', async (sent) => {
      const answer = await stage().own.ingest(`{"source_id":"a","points":[{"metric":"m","value":1,"timestamp":${sent}}]}`);
      const { errors: flaws = [] } = problem(answer, 400, 'invalid_points');
      expect(flaws.map(({ pointer }) => pointer)).toEqual(['/points/0/timestamp']);
    });
  });

  describe('§4.1 rule 4: without a time the server takes its receive time', () => {
    it.each([
      ['missing', ''],
      ['null', ',"timestamp":null'],
      ['0', ',"timestamp":0'],
      ['negative', ',"timestamp":-1'],
      ['far negative', ',"timestamp":-1e300'],
      ['negative zero', ',"timestamp":-0'],
      ['0 once rounded', ',"timestamp":0.0004'],
      ['hardly above 0', ',"timestamp":1e-300'],
    ])('%s', async (what, timestamp) => {
      const id = stage().id(`receive-${what.replaceAll(' ', '-')}`);
      const beforeMs = Date.now() - skewMs;
      const point = (rest: string): string => `{"metric":"m",${rest}${timestamp}}`;
      await stage().own.accepted(`{"source_id":"${id}","points":[${point('"value":1')},${point('"value":"e","class":"event"')}]}`);
      const afterMs = Date.now() + skewMs;
      const inBetween = (times: readonly number[] = []): void => {
        expect(times).toHaveLength(1);
        expect(times[0]).toBeGreaterThanOrEqual(beforeMs);
        expect(times[0]).toBeLessThanOrEqual(afterMs);
      };
      const raw = await stage().reads<QueryJson>(id, '/metrics/query?last=9m', ({ series }) => inBetween(series['m']?.timestamp_ms));
      const logs = await stage().reads<EntryJson[]>(id, '/logs', (entries) => inBetween(entries.map((entry) => entry.timestamp_ms)));
      // One body, one receive time.
      expect(logs.map((entry) => entry.timestamp_ms)).toEqual(raw.series['m']?.timestamp_ms);
    });

    it('a retried point without a time is a new point', async () => {
      const id = stage().id('unstamped');
      const body = { source_id: id, points: [{ metric: 'e', class: 'event', value: 'x' }] };
      await stage().own.accepted(body);
      const [first] = await stage().reads<EntryJson[]>(id, '/logs', (entries) => expect(entries).toHaveLength(1));
      while (Date.now() <= first!.timestamp_ms + 1) await stage().own.json('/v1/sources?status=online');
      await stage().own.accepted(body);
      await stage().reads<EntryJson[]>(id, '/logs', (entries) => expect(entries).toHaveLength(2));
    });
  });

  it('decisions §1: a time ahead is stored and can be queried, and holds nothing back', async () => {
    const id = stage().id('ahead');
    const now = Date.now();
    const ahead = [now + 700_000, now + 86_400_000, Date.UTC(2090, 0, 1)];
    await stage().own.accepted({ source_id: id, points: ahead.map((timestamp, value) => ({ metric: 'm', value, timestamp })) });
    await stage().own.accepted({ source_id: id, points: [{ metric: 'm', value: 7, timestamp: now }] });
    await stage().reads<QueryJson>(id, `/metrics/query?interval=raw&${all}`, ({ series }) =>
      expect(series).toEqual({ m: { timestamp_ms: [now, ...ahead], value: [7, 0, 1, 2] } }),
    );
    await stage().reads<QueryJson>(id, `/metrics/query?interval=1d&${all}`, ({ series }) =>
      expect(series['m']?.count?.reduce((sum, count) => sum + count)).toBe(4),
    );
    await stage().reads(id, '/metrics/latest', (latest) => expect(latest).toEqual({ metrics: { m: 7 } }));
  });
};
