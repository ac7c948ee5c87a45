import type { ApiClient, DeviceJson, EntryJson, FleetJson, QueryJson } from '../http/client.js';
import { metricList, query } from '../http/client.js';
import type { Random } from '../random.js';
import { difference, rowsIn } from './compare.js';
import {
  automaticInterval,
  byBytes,
  intervals,
  pointsOf,
  rowCap,
  rowsOf,
  type Interval,
  type PlainSeries,
  type AnswerRow,
} from './fold.js';
import type { LogEntry, SourceWorld, World } from './world.js';

const hourMs = 3_600_000;
const beginMs = 0;
const endMs = Date.UTC(9999, 11, 31);
const iso = (timeMs: number): string => new Date(timeMs).toISOString();

const timesOf = (series: PlainSeries): number[] => [...series.values()].map(({ timestampMs }) => timestampMs);

/** A question and how the answer differs from what was expected; undefined when it does not. */
function disagree(question: string, found: string | undefined): void {
  if (found !== undefined) throw new Error(`${question}: ${found}`);
}

/** Asks everything there is to ask of one source, and a few windows that the random choices name. @throws Error with the first difference. */
export async function verifySource(client: ApiClient, sourceId: string, world: SourceWorld, random: Random): Promise<void> {
  const path = `/v1/sources/${sourceId}`;
  await verifyNames(client, path, world);
  for (const interval of intervals) await verifyPages(client, path, world, interval);
  for (let window = 0; window < 3; window++) await verifyWindow(client, path, world, random);
  await verifyLatest(client, path, world);
  await verifyLogs(client, path, world, random);
}

async function verifyNames(client: ApiClient, path: string, world: SourceWorld): Promise<void> {
  const names = await client.json<string[]>(`${path}/metrics`);
  const expected = [...world.series.keys()].toSorted(byBytes);
  disagree(
    `${path}/metrics`,
    JSON.stringify(names.toSorted(byBytes)) === JSON.stringify(expected)
      ? undefined
      : `${JSON.stringify(names)}, expected ${JSON.stringify(expected)}`,
  );
}

/** All there is at one interval, page by page, each from the last time of the one before. */
async function verifyPages(client: ApiClient, path: string, world: SourceWorld, interval: Interval): Promise<void> {
  const expected = rowsOf(world.series, interval, beginMs, endMs);
  let [from, startMs] = [0, beginMs];
  for (;;) {
    const answer = await ask(client, path, { start: iso(startMs), end: iso(endMs), interval }, expected.slice(from), interval, false);
    if (!answer.truncated) return;
    const lastMs = expected[from + rowCap - 1]!.timestampMs;
    startMs = lastMs;
    from = expected.findIndex((row) => row.timestampMs === lastMs);
  }
}

async function verifyWindow(client: ApiClient, path: string, world: SourceWorld, random: Random): Promise<void> {
  const times = [...world.series.values()].flatMap(timesOf);
  if (times.length === 0) return;
  const startMs = random.pick(times) - random.pick([0, 0, 1, 60_000]);
  const spanMs = random.pick([1, 599_999, 600_000, hourMs, 24 * hourMs, 7 * 24 * hourMs, 90 * 24 * hourMs, 9000 * 24 * hourMs]);
  const windowEndMs = Math.min(startMs + spanMs, endMs);
  const names = [...world.series.keys(), 'nobody.sent.this'].filter(() => random.chance(0.6));
  const asked = random.chance(0.5) ? random.pick(intervals) : undefined;
  const interval = asked ?? automaticInterval(windowEndMs - startMs);
  const picked = new Map([...world.series].filter(([name]) => names.length === 0 || names.includes(name)));
  const window = { start: iso(startMs), end: iso(windowEndMs), interval: asked };
  const metrics = names.length === 0 ? '' : `&metrics=${metricList(names)}`;
  await ask(
    client,
    path,
    window,
    rowsOf(picked, interval, startMs, windowEndMs),
    interval,
    asked === undefined && interval !== 'raw',
    metrics,
  );
}

async function ask(
  client: ApiClient,
  path: string,
  window: Record<string, string | undefined>,
  expected: readonly AnswerRow[],
  interval: Interval,
  auto: boolean,
  metrics = '',
): Promise<QueryJson> {
  const question = `${path}/metrics/query${query(window)}${metrics}`;
  const answer = await client.json<QueryJson>(question);
  const head = { interval: answer.interval, auto_downsampled: answer.auto_downsampled, truncated: answer.truncated };
  const expectedHead = { interval, auto_downsampled: auto, truncated: expected.length > rowCap };
  disagree(
    question,
    JSON.stringify(head) === JSON.stringify(expectedHead) ? undefined : `${JSON.stringify(head)}, expected ${JSON.stringify(expectedHead)}`,
  );
  disagree(question, difference(rowsIn(answer.series, interval === 'raw' ? 'raw' : 'bucket'), expected.slice(0, rowCap)));
  return answer;
}

async function verifyLatest(client: ApiClient, path: string, world: SourceWorld): Promise<void> {
  const before = latestOf(world.series, Date.now());
  const { metrics } = await client.json<{ metrics: Record<string, number> }>(`${path}/metrics/latest`);
  const after = latestOf(world.series, Date.now());
  const found = canonical(metrics);
  // A point may leave or enter the window while we ask.
  disagree(
    `${path}/metrics/latest`,
    found === canonical(before) || found === canonical(after) ? undefined : `${found}, expected ${canonical(after)}`,
  );
}

function latestOf(series: ReadonlyMap<string, PlainSeries>, nowMs: number): Record<string, number> {
  const newest = [...series].flatMap(([metric, points]): [string, number][] => {
    const newestOf = pointsOf(points).findLast(({ timestampMs }) => nowMs - hourMs <= timestampMs && timestampMs <= nowMs + 600_000);
    return newestOf ? [[metric, newestOf.value]] : [];
  });
  return Object.fromEntries(newest);
}

async function verifyLogs(client: ApiClient, path: string, world: SourceWorld, random: Random): Promise<void> {
  const all = [...world.entries.values()].toSorted((a, b) => a.timestampMs - b.timestampMs);
  const name = random.pick(all)?.metric;
  const startMs = random.pick(all)?.timestampMs ?? 0;
  const spanMs = random.pick([1, hourMs, 9000 * 24 * hourMs]);
  const window = (from: number, to: number): Record<string, string> => ({ start: iso(from), end: iso(Math.min(to, endMs)) });
  const inWindow = all.filter(({ timestampMs }) => startMs <= timestampMs && timestampMs < startMs + spanMs);
  const count = random.whole(1, all.length + 1);

  const check = async (
    parameters: Record<string, string | number | undefined>,
    expected: readonly LogEntry[],
    cut: 'first' | 'last',
  ): Promise<void> => {
    const question = `${path}/logs${query(parameters)}`;
    const limit = Number(parameters['limit'] ?? parameters['tail'] ?? 1000);
    disagree(question, entryDifference(await client.json<EntryJson[]>(question), expected, limit, cut));
  };
  await check({ ...window(beginMs, endMs), limit: 10_000 }, all, 'first');
  await check({ ...window(beginMs, endMs), limit: count }, all, 'first');
  await check({ ...window(startMs, startMs + spanMs) }, inWindow, 'first');
  await check({ tail: count }, all, 'last');
  if (name !== undefined)
    await check(
      { tail: 10_000, name },
      all.filter(({ metric }) => metric === name),
      'last',
    );
}

/** Entries of one time may come in any order, so only how many of them are shown is known where an answer is cut among them. */
function entryDifference(
  actual: readonly EntryJson[],
  expected: readonly LogEntry[],
  limit: number,
  cut: 'first' | 'last',
): string | undefined {
  const kept = cut === 'first' ? expected.slice(0, limit) : expected.slice(-limit);
  const times = actual.map((entry) => entry.timestamp_ms);
  if (JSON.stringify(times) !== JSON.stringify(kept.map((entry) => entry.timestampMs)))
    return `entries at ${times.join()}, expected ${kept.map((entry) => entry.timestampMs).join()}`;
  const left = new Map<string, number>();
  for (const entry of expected) left.set(canonical(entry), (left.get(canonical(entry)) ?? 0) + 1);
  for (const { timestamp_ms, metric, value, tags } of actual) {
    const entry = canonical({ timestampMs: timestamp_ms, metric, value, tags });
    const count = left.get(entry) ?? 0;
    if (count === 0) return `${entry} is not expected (once more)`;
    left.set(entry, count - 1);
  }
  return undefined;
}

/** Asks for one metric of all sources. */
export async function verifyFleet(client: ApiClient, metric: string, world: World, random: Random): Promise<void> {
  const bySource = new Map(
    [...world.sources].flatMap(([id, { series }]): [string, PlainSeries][] => (series.has(metric) ? [[id, series.get(metric)!]] : [])),
  );
  const times = [...bySource.values()].flatMap(timesOf);
  const startMs = times.length > 0 && random.chance(0.7) ? random.pick(times) : beginMs;
  const windowEndMs = Math.min(startMs + random.pick([60_000, 24 * hourMs, 30 * 24 * hourMs, 20_000 * 24 * hourMs]), endMs);
  const automatic = automaticInterval(windowEndMs - startMs);
  const interval = automatic === 'raw' ? '1m' : automatic;
  const expected = rowsOf(bySource, interval, startMs, windowEndMs);

  const question = `/v1/fleet/metrics${query({ metric, start: iso(startMs), end: iso(windowEndMs) })}`;
  const answer = await client.json<FleetJson>(question);
  const sources = [...new Set(expected.map(({ name }) => name))].toSorted(byBytes);
  const head = [
    answer.metric,
    answer.interval,
    answer.truncated,
    answer.sources_w_metric,
    answer.sources.map((source) => source.source_id),
  ];
  const expectedHead = [metric, interval, expected.length > rowCap, sources.length, sources];
  disagree(question, canonical(head) === canonical(expectedHead) ? undefined : `${canonical(head)}, expected ${canonical(expectedHead)}`);
  const columns = answer.sources.map(({ source_id, online, ...rest }) => {
    if (online) throw new Error(`${question}: ${source_id} is online, yet nothing is connected`);
    return [source_id, rest] as const;
  });
  disagree(question, difference(rowsIn(Object.fromEntries(columns), 'bucket'), expected.slice(0, rowCap)));
}

/** Asks for the list of sources and each one alone, among those whose id begins with `prefix`. */
export async function verifySources(client: ApiClient, prefix: string, world: World): Promise<void> {
  const { devices } = await client.json<{ devices: DeviceJson[] }>('/v1/sources');
  const found = devices.filter(({ source_id }) => source_id.startsWith(prefix));
  const expected = [...world.sources.keys()].filter((id) => id.startsWith(prefix)).toSorted(byBytes);
  disagree(
    '/v1/sources',
    canonical(found.map(({ source_id }) => source_id)) === canonical(expected)
      ? undefined
      : `${canonical(found)}, expected ${canonical(expected)}`,
  );
  for (const device of found)
    disagree(`/v1/sources/${device.source_id}`, Number.isInteger(device.last_seen_ms) ? undefined : canonical(device));
}

/** JSON with the keys of every object in order, so that equal values are equal texts. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) =>
    typeof part === 'object' && part !== null && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => byBytes(a, b)))
      : part,
  );
}
