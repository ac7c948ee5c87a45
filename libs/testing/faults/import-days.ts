import { setTimeout as pause } from 'node:timers/promises';
import { expect } from '@jest/globals';
import { eventually } from '../eventually.js';
import { ApiClient, type QueryJson } from '../http/client.js';
import type { Stage } from './stage.js';

const dayS = 86_400;
const days = 10_000;
const everyMs = 1000;
/** Within this time each point of others has to be visible. */
const boundMs = 30_000;
const patienceMs = 840_000;
const lookMs = 5000;

const iso = (second: number): string => new Date(1000 * second).toISOString();
const window = `start=${iso(0)}&end=${iso(days * dayS)}`;

/**
 * One organization sends one body with a point in each of 10,000 days. Until all of them and their rollups can be read, another one sends a
 * point each second and reads each of them back.
 */
export async function importDays({ cluster }: Stage): Promise<void> {
  const [importer, other] = [cluster.keys.own, cluster.keys.other].map((key) => new ApiClient(() => cluster.urls, key)) as [
    ApiClient,
    ApiClient,
  ];
  const beganMs = performance.now();
  const points = Array.from({ length: days }, (_, day) => ({ metric: 'm', value: day, timestamp: day * dayS + 1 }));
  await importer.accepted({ source_id: 'importer', points });

  const imported = new AbortController();
  const delaysMs: number[] = [];
  const failures: Error[] = [];
  const watching = (async () => {
    const shown: Promise<unknown>[] = [];
    while (!imported.signal.aborted) {
      shown.push(
        visible(other, shown.length).then(
          (delayMs) => delaysMs.push(delayMs),
          (error: Error) => failures.push(error),
        ),
      );
      await pause(everyMs);
    }
    await Promise.all(shown);
  })();
  const importing = untilImported(importer).finally(() => imported.abort());
  await Promise.all([importing, watching]);
  expect(failures).toEqual([]);

  const [p50, max] = [0.5, 1].map((share) => delaysMs.toSorted((a, b) => a - b)[Math.ceil(share * delaysMs.length) - 1]!);
  const tookS = Math.round((performance.now() - beganMs) / 1000);
  process.stderr.write(
    `10,000 days and their rollups after ${tookS} s; ${delaysMs.length} points of another organization visible after ${Math.round(p50!)} ms in the middle, ${Math.round(max!)} ms at most\n`,
  );
}

/** How long a point takes from its acknowledgement until it can be read, milliseconds. */
async function visible(client: ApiClient, value: number): Promise<number> {
  const timestamp = Date.now();
  await client.accepted({ source_id: 'other', points: [{ metric: 'm', value, timestamp }] });
  const beganMs = performance.now();
  await eventually(async () => {
    const path = `/v1/sources/other/metrics/query?interval=raw&start=${iso(timestamp / 1000)}&end=${iso((timestamp + 1) / 1000)}`;
    const { series } = await client.json<QueryJson>(path);
    expect(series).toMatchObject({ m: { timestamp_ms: [timestamp], value: [value] } });
  }, boundMs);
  return performance.now() - beganMs;
}

async function untilImported(client: ApiClient): Promise<void> {
  const read = (interval: string): Promise<QueryJson> =>
    client.json<QueryJson>(`/v1/sources/importer/metrics/query?interval=${interval}&${window}`);
  const values = Array.from({ length: days }, (_, day) => day);
  const starts = values.map((day) => 1000 * day * dayS);
  await eventually(async () => {
    await pause(lookMs);
    const { series, truncated } = await read('1d');
    const [found] = Object.values(series);
    if (found?.count?.length !== days) throw new Error(`only ${found?.count?.length ?? 0} of the days have a rollup`);
    expect([truncated, found]).toEqual([
      false,
      { timestamp_ms: starts, min: values, max: values, avg: values, count: values.map(() => 1) },
    ]);
  }, patienceMs);
  expect((await read('raw')).series).toEqual({ m: { timestamp_ms: starts.map((startMs) => startMs + 1000), value: values } });
}
