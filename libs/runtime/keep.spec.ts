import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient, EmbeddedDeployment, eventually, query, type ColumnsJson, type EntryJson, type QueryJson } from '#testing';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const beginMs = Date.UTC(2026, 0, 1);
const endMs = beginMs + 40 * dayMs;
const iso = (ms: number): string => new Date(ms).toISOString();
const valueAt = (ms: number): number => ((ms - beginMs) / hourMs) % 37;
const event = (timestamp: number): object => ({ metric: 'door', class: 'event', timestamp, value: 'open' });
const from = (ms: number): number[] => Array.from({ length: (endMs - ms) / hourMs }, (_, hour) => ms + hour * hourMs);

describe('a server that keeps points for 7 days, their rollups for 30 and those of days for ever, and events for 10', () => {
  let nowMs = beginMs;
  let deployment: EmbeddedDeployment;
  let client: ApiClient;
  beforeAll(async () => {
    const keep = { keepPointsMs: 7 * dayMs, keep1mMs: 30 * dayMs, keep1hMs: 30 * dayMs, keepEventsMs: 10 * dayMs };
    deployment = await EmbeddedDeployment.start(200, { ...keep, clock: () => nowMs });
    client = new ApiClient(() => deployment.urls, deployment.keys.own);
    for (; nowMs < endMs; nowMs += 8 * hourMs) {
      const points = Array.from({ length: 8 }, (_, hour) => ({
        metric: 'm',
        timestamp: nowMs + hour * hourMs,
        value: valueAt(nowMs + hour * hourMs),
      }));
      await client.accepted({ source_id: 's', points: [...points, event(nowMs)] });
    }
    nowMs = endMs - hourMs;
    await deployment.settle();
  });
  afterAll(() => deployment.stop());

  const read = async (interval: string): Promise<ColumnsJson> => {
    const { series } = await client.json<QueryJson>(
      `/v1/sources/s/metrics/query${query({ start: iso(beginMs - dayMs), end: iso(endMs), interval })}`,
    );
    return series['m']!;
  };
  const expectKept = async (): Promise<void> => {
    expect((await read('raw')).timestamp_ms).toEqual(from(endMs - 8 * dayMs));
    for (const interval of ['1m', '10m', '1h']) {
      const { timestamp_ms: times, avg, count } = await read(interval);
      expect(times).toEqual(from(endMs - 31 * dayMs));
      expect(avg).toEqual(times.map(valueAt));
      expect(new Set(count)).toEqual(new Set([1]));
    }
    expect((await read('1d')).count).toEqual(Array.from({ length: 40 }, () => 24));
    const entries = await client.json<EntryJson[]>(`/v1/sources/s/logs${query({ start: iso(beginMs - dayMs), end: iso(endMs) })}`);
    const firstMs = endMs - 11 * dayMs;
    expect(entries.map(({ timestamp_ms: ms }) => ms)).toEqual(Array.from({ length: 33 }, (_, at) => firstMs + at * 8 * hourMs));
  };
  /** The days before are archived in the background. */
  const eventuallyKept = (): Promise<void> => eventually(expectKept, 30_000);
  const late = async (): Promise<string[]> =>
    Array.from((await deployment.metrics()).matchAll(/^headwater_late_\w+_total (\d+)$/gm), ([, count]) => count!);

  it('answers with what is kept', () => expect(eventuallyKept()).resolves.toBeUndefined());

  it('takes points and events that come too late into its log only, and counts them', async () => {
    await client.accepted({
      source_id: 's',
      points: [
        { metric: 'm', timestamp: beginMs + 10 * dayMs, value: 1e6 },
        event(beginMs + 10 * dayMs),
        event(beginMs + 11 * dayMs),
        { metric: 'm', timestamp: endMs - hourMs, value: valueAt(endMs - hourMs) },
      ],
    });
    await deployment.settle();
    expect(await late()).toEqual(['1', '2']);
    await expectKept();
  });

  it('does so after a crash', async () => {
    await deployment.crash();
    await expect(eventuallyKept()).resolves.toBeUndefined();
  });

  it('differs in nothing from its log, and does not after a rebuild', async () => {
    for (const rebuild of [() => deployment.rebuild(), () => deployment.rebuild()]) {
      await rebuild();
      await expect(eventuallyKept()).resolves.toBeUndefined();
    }
  });
});
