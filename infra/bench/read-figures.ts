import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from './cluster.js';
import { percentiles, print, ratios, spread, type Asked, type Figure, type Percentiles } from './report.js';
import { get, ingest, ServerProcess, until, type Target } from './server-process.js';
import { metricName, sourceName } from './shapes.js';

/** A read and how often a second it is asked. */
interface Read {
  readonly name: string;
  readonly about: string;
  readonly path: (nowMs: number) => string;
  /** How often it is asked, so that the server is busy and not at its limit. */
  readonly embedded: Rate;
  readonly cluster: Rate;
}

interface Rate {
  readonly perSecond: number;
  readonly requests: number;
}

const iso = (ms: number): string => new Date(ms).toISOString();
const history = (source: string, fromMs: number, toMs: number, rest = ''): string =>
  `/v1/sources/${source}/metrics/query?metrics=${metricName(0)}&start=${iso(fromMs)}&end=${iso(toMs)}${rest}`;

const fleet = (metric: number, nowMs: number): string =>
  `/v1/fleet/metrics?metric=${metricName(metric)}&start=${iso(nowMs - hourMs)}&end=${iso(nowMs)}`;

/** What asks for a read on the command line. */
const wordOf = ({ name }: Read): string => name.split(' ')[0]!;

const minuteMs = 60_000;
const hourMs = 3_600_000;
const dayMs = 86_400_000;

/** Source whose series go back 30 days. */
const oldSource = 'bench-history';

const fleetSources = 10_000;

const reads: readonly Read[] = [
  {
    name: 'G7',
    about: 'raw 10 min of one series',
    path: (nowMs) => history(oldSource, nowMs - 10 * minuteMs, nowMs, '&interval=raw'),
    embedded: { perSecond: 100, requests: 1_000 },
    cluster: { perSecond: 50, requests: 500 },
  },
  {
    name: 'G7b 24 h',
    about: '24 h of one series at 1m',
    path: (nowMs) => history(oldSource, nowMs - 24 * hourMs, nowMs),
    embedded: { perSecond: 100, requests: 500 },
    cluster: { perSecond: 20, requests: 200 },
  },
  {
    name: 'G7b 30 d',
    about: '30 d of one series at 1h',
    path: (nowMs) => history(oldSource, nowMs - 30 * dayMs, nowMs),
    embedded: { perSecond: 100, requests: 500 },
    cluster: { perSecond: 50, requests: 300 },
  },
  {
    name: 'G7c',
    about: 'fleet metrics of 10,000 sources, 1 h',
    path: (nowMs) => fleet(0, nowMs),
    embedded: { perSecond: 5, requests: 50 },
    cluster: { perSecond: 2, requests: 20 },
  },
];

/** What is filled and asked. */
interface Filled {
  readonly ingress: Target;
  readonly query: Target;
  /** Metrics of each source of the fleet. */
  readonly metrics: number;
}

async function send(to: Target, sourceId: string, metrics: number, timestamps: readonly number[]): Promise<void> {
  const points = timestamps.flatMap((timestamp, at) =>
    Array.from({ length: metrics }, (_, metric) => ({
      metric: metricName(metric),
      value: Math.round(Math.sin(at + metric) * 1e6) / 1e4,
      timestamp,
    })),
  );
  await ingest(to, sourceId, points);
}

/** Fills a server with what the reads ask for: 30 days of one source a point a minute, the last hour a point a second, and a fleet of 10,000. */
async function fill({ ingress, query, metrics }: Filled, nowMs: number): Promise<void> {
  const minutes = Array.from({ length: 30 * 24 * 60 }, (_, minute) => nowMs - 30 * dayMs + minute * minuteMs);
  for (let from = 0; from < minutes.length; from += 10_000) await send(ingress, oldSource, 1, minutes.slice(from, from + 10_000));
  const lastHour = Array.from({ length: 3_600 }, (_, second) => nowMs - hourMs + second * 1_000);
  await send(ingress, oldSource, 1, lastHour);
  const ten = Array.from({ length: 10 }, (_, at) => nowMs - (at + 1) * 10_000);
  for (let source = 0; source < fleetSources; source += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, at) => send(ingress, sourceName(source + at), metrics, ten)));
  }
  // The last hour has a point at each of the minutes too.
  const oldPoints = minutes.length + lastHour.length - 60;
  const expected = `${fleetSources * metrics + 1} series, ${oldPoints} points`;
  let seen = '';
  await until(async () => (seen = await found(query, metrics, nowMs)) === expected, 180_000, 500).catch(() => {
    throw new Error(`there must be ${expected} of one source, and there are ${seen}: the run is void`);
  });
}

/** Series that the fleet metrics show, and points of the old source, as readers see them. */
async function found(query: Target, metrics: number, nowMs: number): Promise<string> {
  const read = async (path: string): Promise<unknown> => (await get(query, path)).json();
  let seriesSeen = 0;
  for (let metric = 0; metric < metrics; metric++) {
    seriesSeen += ((await read(fleet(metric, nowMs))) as { sources_w_metric: number }).sources_w_metric;
  }
  const { series } = (await read(history(oldSource, nowMs - 60 * dayMs, nowMs))) as { series: Record<string, { count: number[] }> };
  const points = series[metricName(0)]!.count.reduce((sum, count) => sum + count, 0);
  return `${seriesSeen} series, ${points} points`;
}

/** What is asked at a fixed rate. */
interface Load extends Rate {
  readonly url: string;
  readonly key: string;
}

/** Milliseconds from when a request was to be sent, or was sent if that was earlier, to the last byte of the answer; and the bytes of an answer. */
interface Asking extends Percentiles {
  readonly bytes: number;
}

const warmUpRequests = 20;

/**
 * Asks at a fixed rate, whether or not earlier answers have come, and reports latencies from the intended time of sending, so that a late answer does not
 * hide the wait of the requests behind it.
 */
async function askedAt({ url, key, perSecond, requests }: Load): Promise<Asking> {
  const agent = new Agent({ keepAlive: true });
  const ask = async (): Promise<number> => {
    const [answer] = (await once(request(url, { agent, headers: { 'x-api-key': key } }).end(), 'response')) as [IncomingMessage];
    if (answer.statusCode !== 200) throw new Error(`${url}: ${answer.statusCode}`);
    return (await buffer(answer)).length;
  };
  let bytes = 0;
  for (let at = 0; at < warmUpRequests; at++) bytes = await ask();
  const begun = performance.now();
  const latencies = await Promise.all(
    Array.from({ length: requests }, async (_, at) => {
      const intended = begun + (1_000 * at) / perSecond;
      await pause(Math.max(0, intended - performance.now()));
      // A timer may end up to a millisecond early.
      const sent = Math.min(intended, performance.now());
      await ask();
      return performance.now() - sent;
    }),
  );
  agent.destroy();
  return { ...percentiles(latencies), bytes };
}

interface Comparison {
  /** Stands before the names of figures. */
  readonly what: string;
  readonly shape: Figure['shape'];
  readonly target: Target;
  readonly nowMs: number;
  readonly pairs: number;
}

/** Asks a filled server and a server that answers as many bytes, in turn. */
async function compare(read: Read, { what, shape, target, nowMs, pairs }: Comparison): Promise<void> {
  const { about, path } = read;
  const { perSecond, requests } = read[shape];
  const floor = await ServerProcess.floor();
  const common = { key: target.key, perSecond, requests };
  const ours: Asking[] = [];
  const theirs: Asking[] = [];
  try {
    for (let pair = 0; pair < pairs; pair++) {
      ours.push(await askedAt({ ...common, url: target.url + path(nowMs) }));
      theirs.push(await askedAt({ ...common, url: `${floor.url}/${ours[0]!.bytes}` }));
    }
  } finally {
    await floor.remove();
  }
  const over = (of: (one: Asking) => number, digits: number): string => spread(ours.map(of), digits);
  const p50 = ours.map((one) => one.p50);
  const floorP50 = theirs.map((one) => one.p50);
  print(`${what}${read.name}: ${about}, ${perSecond} requests/s, ${ours[0]!.bytes} bytes, ${pairs} pairs`, {
    'p50, ms': spread(p50, 2),
    'p99, ms': over((one) => one.p99, 2),
    'max, ms': over((one) => one.max, 2),
    'floor p50, ms': spread(floorP50, 2),
    'ratio of p50 to the floor': spread(ratios(p50, floorP50), 1),
  });
}

async function readEmbedded(asked: Asked): Promise<void> {
  const server = await ServerProcess.embedded();
  try {
    const nowMs = Date.now();
    await fill({ ingress: server, query: server, metrics: 1 }, nowMs);
    const what = { what: '', shape: 'embedded', target: server, nowMs, pairs: asked.pairs } as const;
    for (const read of reads.filter((one) => asked.wanted(wordOf(one)))) await compare(read, what);
    await server.stop();
    const restarts: number[] = [];
    for (let pair = 0; pair < asked.pairs; pair++) {
      restarts.push(await server.start());
      await server.stop();
    }
    print('restart on that folder', { 'seconds until ready': spread(restarts, 2) });
  } finally {
    await server.remove();
  }
}

/** The role itself is asked, without a proxy before it. */
async function readCluster({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress', 'processors', 'query'] });
  try {
    const nowMs = Date.now();
    const metrics = 10;
    await fill({ ingress: cluster.role('ingress'), query: cluster.role('query'), metrics }, nowMs);
    await cluster.settled();
    const what = `reads of a cluster with ${fleetSources * metrics} series, `;
    for (const read of reads) await compare(read, { what, shape: 'cluster', target: cluster.role('query'), nowMs, pairs });
  } finally {
    await cluster.stop();
  }
}

export const embeddedReads: Figure = {
  names: Object.fromEntries(
    Array.from(Map.groupBy(reads, wordOf), ([word, its]) => [word, `reads: ${its.map(({ about }) => about).join('; ')}`]),
  ),
  shape: 'embedded',
  run: readEmbedded,
};
export const clusterReads: Figure = { names: { reads: 'G7, G7b and G7c in a cluster' }, shape: 'cluster', run: readCluster };
