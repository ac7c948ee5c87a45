import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get, ServerProcess, until } from './server-process.js';
import { metricName, sourceName } from './shapes.js';
import type { ProbeOrder, ProbeReport } from './probe.js';

/** A read and how often a second it is asked. */
export interface ReadFigure {
  readonly name: string;
  readonly about: string;
  readonly path: (nowMs: number) => string;
  readonly perSecond: number;
  readonly requests: number;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const query = (source: string, fromMs: number, toMs: number, rest = ''): string =>
  `/v1/sources/${source}/metrics/query?metrics=${metricName(0)}&start=${iso(fromMs)}&end=${iso(toMs)}${rest}`;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Source whose series go back 30 days. */
export const oldSource = 'bench-history';

export const readFigures: readonly ReadFigure[] = [
  {
    name: 'G7',
    about: 'raw 10 min of one series',
    path: (nowMs) => query(oldSource, nowMs - 10 * minuteMs, nowMs, '&interval=raw'),
    perSecond: 100,
    requests: 1_000,
  },
  {
    name: 'G7b 24 h',
    about: '24 h of one series at 1m',
    path: (nowMs) => query(oldSource, nowMs - 24 * hourMs, nowMs),
    perSecond: 100,
    requests: 500,
  },
  {
    name: 'G7b 30 d',
    about: '30 d of one series at 1h',
    path: (nowMs) => query(oldSource, nowMs - 30 * dayMs, nowMs),
    perSecond: 100,
    requests: 500,
  },
  {
    name: 'G7c',
    about: 'fleet metrics of 10,000 sources, 1 h',
    path: (nowMs) => `/v1/fleet/metrics?metric=${metricName(0)}&start=${iso(nowMs - hourMs)}&end=${iso(nowMs)}`,
    perSecond: 5,
    requests: 50,
  },
];

/** Fills a server with what the reads ask for: 30 days of one source a point a minute, the last hour a point a second, and a fleet of 10,000. */
export async function fill(server: ServerProcess, nowMs: number): Promise<void> {
  const send = async (sourceId: string, timestamps: readonly number[]): Promise<void> => {
    const points = timestamps.map((timestamp, at) => ({ metric: metricName(0), value: Math.round(Math.sin(at) * 1e6) / 1e4, timestamp }));
    const body = JSON.stringify({ source_id: sourceId, points });
    const headers = { 'x-api-key': server.key, 'content-type': 'application/json' };
    const answer = await fetch(`${server.url}/ingest`, { method: 'POST', headers, body });
    if (!answer.ok) throw new Error(`filling was refused: ${await answer.text()}`);
  };
  const minutes = Array.from({ length: 30 * 24 * 60 }, (_, minute) => nowMs - 30 * dayMs + minute * minuteMs);
  for (let from = 0; from < minutes.length; from += 10_000) await send(oldSource, minutes.slice(from, from + 10_000));
  await send(
    oldSource,
    Array.from({ length: 3_600 }, (_, second) => nowMs - hourMs + second * 1_000),
  );
  for (let source = 0; source < 10_000; source += 50) {
    const ten = Array.from({ length: 10 }, (_, at) => nowMs - (at + 1) * 10_000);
    await Promise.all(Array.from({ length: 50 }, (_, at) => send(sourceName(source + at), ten)));
  }
  await until(async () => {
    const answer = (await (await get(server, readFigures[3]!.path(nowMs))).json()) as { sources_w_metric: number };
    return answer.sources_w_metric === 10_000 + 1;
  }, 20_000);
}

/** Asks at a fixed rate, whether or not earlier answers have come, and reports latencies from the intended time of sending. */
export async function probe(order: ProbeOrder): Promise<ProbeReport> {
  const child = fork(new URL('./probe.js', import.meta.url));
  child.send(order);
  const [report] = (await once(child, 'message')) as [ProbeReport];
  return report;
}
