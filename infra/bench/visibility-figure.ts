import { Cluster } from './cluster.js';
import { rowCount, tables } from './direct-servers.js';
import { counted, loaded } from './ingest-figures.js';
import type { Percentiles } from './percentiles.js';
import { ready } from './processes.js';
import { print, spread, type Asked, type Figure } from './report.js';
import { until } from './server-process.js';
import { pointsOf, stepMs, type Shape } from './shapes.js';
import type { VisibilityOrder } from './visibility-probe.js';

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

async function run({ pairs }: Asked): Promise<void> {
  const cluster = await Cluster.start({ roles: ['ingress', 'processors', 'query'] });
  try {
    const [ingress, query] = [cluster.role('ingress'), cluster.role('query')];
    const startMs = Date.now();
    const spanMs = (pointsOf(full) / full.sources / metrics) * stepMs;
    // The first is for the just-in-time compilers.
    await capacity(cluster, startMs);
    const most = await capacity(cluster, startMs + spanMs);
    await cluster.settled();

    const { shape, perSecond } = baseOf(share * most);
    const { url, key } = ingress;
    const delays: Percentiles[] = [];
    for (let round = 0; round < pairs; round++) {
      const send = await loaded({ url, key, shape, startMs: Date.now() - bodyS * 1_000, perSecond });
      const order = { ingress: { url, key }, query: { url: query.url, key }, perSecond: probesPerS, points: (seconds - 2) * probesPerS };
      const probe = await ready('./visibility-probe.js', order satisfies VisibilityOrder);
      const [report] = await Promise.all([probe(), send()]);
      delays.push(report as Percentiles);
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
      'points/s visible as fast as they are taken': Math.round(most),
    });
  } finally {
    await cluster.stop();
  }
}

export const visibilityFigure: Figure = { names: ['visibility'], shape: 'cluster', run };
