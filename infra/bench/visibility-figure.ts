import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from './cluster.js';
import { rowCount, tables } from './direct-servers.js';
import { counted, loaded } from './ingest-figures.js';
import { percentiles, print, spread, type Asked, type Figure, type Percentiles } from './report.js';
import { get, ingest, until, type Target } from './server-process.js';
import { pointsOf, stepMs, type Shape } from './shapes.js';

const metrics = 20;
const common = { name: 'visibility', about: '', metrics, gzip: false, connections: 16 };
/** Sources of its own: its points are ahead of the time. */
const full: Shape = { ...common, sources: 500, firstSource: 1_000_000, pointsPerBody: 1_000, bodies: 1_000 };

/** Each source sends 5 s of its points at a time, when they are over. */
const bodyS = 5;
const seconds = 30;
const probesPerS = 5;
const share = 0.1;

/** Sends points as fast as they are accepted, and resolves to how many a second became visible. */
async function capacity(cluster: Cluster, startMs: number): Promise<number> {
  const questDbUrl = cluster.servers.questDbUrl;
  const before = await rowCount(questDbUrl, tables[0]);
  const { url: ingressUrl, key } = cluster.role('ingress');
  const send = await loaded({ url: ingressUrl, key, shape: full, startMs });
  const beganMs = performance.now();
  await send();
  await until(async () => (await rowCount(questDbUrl, tables[0])) === before + pointsOf(full), 120_000);
  return pointsOf(full) / ((performance.now() - beganMs) / 1_000);
}

function baseOf(pointsPerS: number): { readonly shape: Shape; readonly perSecond: number } {
  const pointsPerBody = (bodyS * 1_000 * metrics) / stepMs;
  const perSecond = Math.round(pointsPerS / pointsPerBody);
  return { shape: { ...common, sources: perSecond * bodyS, pointsPerBody, bodies: perSecond * seconds }, perSecond };
}

const probeSource = 'bench-probe';
const probeMetric = 'probe.value';
const askEveryMs = 20;
const lostMs = 30_000;

/** Posts points one by one, and measures the milliseconds from when each was to be posted, or was posted if that was earlier, to the answer that has it. */
class Probe {
  /** When the delay of each unread point begins, on the monotonic clock, by the timestamp of the point. */
  readonly #waiting = new Map<number, number>();
  readonly #delays: number[] = [];

  constructor(
    private readonly ingress: Target,
    private readonly query: Target,
    private readonly points: number,
  ) {}

  async run(): Promise<Percentiles> {
    await Promise.all([this.#postAll(), this.#askForAll()]);
    return percentiles(this.#delays);
  }

  async #postAll(): Promise<void> {
    const beganMs = performance.now();
    const posted: Promise<void>[] = [];
    for (let value = 0; value < this.points; value++) {
      const intendedMs = beganMs + (1_000 * value) / probesPerS;
      await pause(Math.max(0, intendedMs - performance.now()));
      const timestamp = Date.now();
      // A timer may end up to a millisecond early.
      this.#waiting.set(timestamp, Math.min(intendedMs, performance.now()));
      posted.push(ingest(this.ingress, probeSource, [{ metric: probeMetric, value, timestamp }]));
    }
    await Promise.all(posted);
  }

  async #askForAll(): Promise<void> {
    for (let readMs = performance.now(); this.#delays.length < this.points;) {
      await pause(askEveryMs);
      const times = await this.#read();
      const nowMs = performance.now();
      for (const time of times) {
        const fromMs = this.#waiting.get(time);
        if (fromMs === undefined) continue;
        this.#waiting.delete(time);
        this.#delays.push(nowMs - fromMs);
        readMs = nowMs;
      }
      if (nowMs - readMs > lostMs)
        throw new Error(`${this.points - this.#delays.length} points of the probe cannot be read: the run is void`);
    }
  }

  /** The times of points that can be read and were not before; none while the source is not known. */
  async #read(): Promise<readonly number[]> {
    if (this.#waiting.size === 0) return [];
    const [first, last] = [Math.min(...this.#waiting.keys()), Math.max(...this.#waiting.keys())];
    const window = `start=${new Date(first).toISOString()}&end=${new Date(last + 1).toISOString()}`;
    const answer = await get(this.query, `/v1/sources/${probeSource}/metrics/query?metrics=${probeMetric}&interval=raw&${window}`);
    if (answer.status === 404) return [];
    const { series } = (await answer.json()) as { series: Record<string, { timestamp_ms: number[] }> };
    return series[probeMetric]?.timestamp_ms ?? [];
  }
}

async function run({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress', 'processors', 'query'] });
  try {
    const [ingress, query] = [cluster.role('ingress'), cluster.role('query')];
    const startMs = Date.now();
    const spanMs = (pointsOf(full) / full.sources / metrics) * stepMs;
    // The first is for the just-in-time compilers.
    await capacity(cluster, startMs);
    const fullPerS = await capacity(cluster, startMs + spanMs);
    await cluster.settled();

    const { shape, perSecond } = baseOf(share * fullPerS);
    const { url, key } = ingress;
    const delays: Percentiles[] = [];
    for (let round = 0; round < pairs; round++) {
      const send = await loaded({ url, key, shape, startMs: Date.now() - bodyS * 1_000, perSecond });
      const probe = new Probe(ingress, query, (seconds - 2) * probesPerS);
      const [report] = await Promise.all([probe.run(), send()]);
      delays.push(report);
    }
    await cluster.settled();
    const accepted = 2 * pointsOf(full) + pairs * pointsOf(shape);
    const seen = await counted(query, metrics, Date.now());
    if (seen !== accepted) throw new Error(`visibility: ${accepted} points were accepted and ${seen} can be read: the run is void`);
    const over = (of: (one: Percentiles) => number): string => spread(delays.map(of), 0);
    const load = `${perSecond * shape.pointsPerBody} points/s in ${perSecond} bodies/s from ${shape.sources} sources`;
    print(`visibility: from posting a point to reading it, while ${load} come in, ${probesPerS} probes/s, ${pairs} × ${seconds} s`, {
      'p50, ms': over((one) => one.p50),
      'p99, ms': over((one) => one.p99),
      'max, ms': over((one) => one.max),
      'points/s visible as fast as they are taken': Math.round(fullPerS),
    });
  } finally {
    await cluster.stop();
  }
}

export const visibilityFigure: Figure = {
  names: { visibility: 'from POST /ingest until the point can be read, under load' },
  shape: 'cluster',
  run,
};
