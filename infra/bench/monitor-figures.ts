import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { AlertOrder, AlertReport } from './alert-load.js';
import { charge } from './ingest-figures.js';
import { post } from './live-client.js';
import { ready } from './processes.js';
import { median, percentiles, print, spread, type Asked, type Figure } from './report.js';
import { get, headwater, ingest, ServerProcess, until, type Target } from './server-process.js';
import { dayStartMs, metricName, shapes, sourceName } from './shapes.js';

const [d1] = shapes as [(typeof shapes)[number]];
const dayMs = 86_400_000;
/** As much as an organization may have. */
const maxOfOrganization = 10_000;
const changesPerS = 60;
/** More than the metrics that D1 sends: 10,000 on its sources are 8,000 on what is sent, and 2,000 beside it. */
const ofSource = 25;

/** What is never outside. */
const calm = { threshold: { max: 1e9, clear: 1e8 } };

/** Where the monitors of one server stand: on sources that send, or on others. */
interface Side {
  readonly name: string;
  readonly monitors: number;
  readonly ofSenders: boolean;
  readonly preload?: string;
}

const nobody: Side = { name: 'nobody evaluates', monitors: 0, ofSenders: false, preload: './without-monitors.js' };
const none: Side = { name: 'no monitor', monitors: 0, ofSenders: false };
const many: Side = { name: '10,000 on the sources that send', monitors: 10_000, ofSenders: true };
const elsewhere: readonly Side[] = [
  { name: '1,000 on other sources', monitors: 1_000, ofSenders: false },
  { name: '100,000 on other sources', monitors: 100_000, ofSenders: false },
];

/** Another organization of a stopped server, with a key of its own. */
const organization = ({ dataFolder }: ServerProcess): Promise<string> =>
  headwater('org', 'create', '--name', 'bench', '--payment', 'yes', '--data', dataFolder);

/** Sends a point of each source. Resolves when the server knows all of these sources: before, it refuses monitors of them. */
async function makeSources(target: Target, sources: readonly string[]): Promise<void> {
  await ingest(
    target,
    sources[0]!,
    sources.map((source_id) => ({ source_id, metric: 'bench.first', value: 0 })),
  );
  for (const source of sources) await until(async () => (await get(target, `/v1/sources/${source}`)).ok, 30_000);
}

/** Defines one monitor after the other, no faster than the server lets one organization do. */
async function define(target: Target, count: number, prefix: string): Promise<void> {
  const sources = Array.from({ length: Math.ceil(count / ofSource) }, (_, source) => prefix + sourceName(source));
  if (count > 0) await makeSources(target, sources);
  const agent = new Agent({ keepAlive: true });
  const begunMs = performance.now();
  for (let at = 0; at < count; at++) {
    await pause(Math.max(0, begunMs + (1_000 * at) / changesPerS - performance.now()));
    const monitor = { source_id: sources[Math.floor(at / ofSource)], metric: metricName(at % ofSource), ...calm };
    await post(target, agent, '/api/monitors', JSON.stringify(monitor));
  }
  agent.destroy();
}

/** A server with the monitors of a side. */
async function serverWith({ monitors, ofSenders, preload }: Side): Promise<ServerProcess> {
  const server = await ServerProcess.embedded(preload);
  try {
    const keys = [server.key];
    if (monitors > maxOfOrganization) {
      await server.stop();
      while (keys.length * maxOfOrganization < monitors) keys.push(await organization(server));
      await server.start();
    }
    const ofEach = Math.min(monitors, maxOfOrganization);
    await Promise.all(keys.map((key) => define({ url: server.url, key }, ofEach, ofSenders ? '' : 'other-')));
    return server;
  } catch (error) {
    await server.remove();
    throw error;
  }
}

/** Voids the run unless the monitors of the sources that have sent do fire. */
async function checkFires(server: Target, { name, ofSenders }: Side): Promise<void> {
  if (!ofSenders) return;
  await ingest(server, sourceName(0), [{ metric: metricName(0), value: 1e12, timestamp: Date.now() + 60_000 }]);
  const isOpen = async (): Promise<boolean> => (await (await get(server, '/api/alerts?status=open')).text()).includes(sourceName(0));
  await until(isOpen, 20_000).catch(() => {
    throw new Error(`${name}: a point outside fires nothing: the run is void`);
  });
}

/** Servers that differ by their monitors alone, each against the first. */
const evaluation =
  (...sides: readonly [Side, ...Side[]]) =>
  async ({ pairs }: Asked): Promise<void> => {
    const servers: ServerProcess[] = [];
    try {
      for (const side of sides) servers.push(await serverWith(side));
      const runs = sides.map((): number[] => []);
      // Each round is a day later: a monitor has evaluated what is older. The first is for the just-in-time compilers. Every other round goes
      // from the last server to the first: what grows or warms while a round lasts is charged to all alike.
      for (let round = -1; round < pairs; round++) {
        const startMs = dayStartMs(Date.now()) - (pairs - round) * dayMs;
        const order = Array.from(servers.keys());
        for (const at of round % 2 === 0 ? order : order.reverse()) {
          const { cpuPerMpt } = await charge(servers[at]!, d1, startMs);
          if (round >= 0) runs[at]!.push(cpuPerMpt);
        }
      }
      for (const [at, side] of sides.entries()) await checkFires(servers[at]!, side);
      const [first] = runs as [number[]];
      const against = (name: string, of: readonly number[]): Record<string, string> => ({
        [`${name}, ratio of medians`]: (median(of) / median(first)).toFixed(3),
        // Whatever else the machine does can only add to what a run costs.
        [`${name}, ratio of the least`]: (Math.min(...of) / Math.min(...first)).toFixed(3),
      });
      const over = sides.map(({ name }, at) => ({
        [`${name}, cpu-s per million points`]: spread(runs[at]!, 3),
        ...(at > 0 && against(name, runs[at]!)),
      }));
      print(`monitors: all of ${d1.about}, with so many monitors, against ${sides[0].name}, ${pairs} rounds`, Object.assign({}, ...over));
    } finally {
      for (const server of servers) await server.remove();
    }
  };

const perSecond = 100;
const seconds = 10;

async function latency({ pairs }: Asked): Promise<void> {
  const server = await ServerProcess.embedded();
  try {
    const order: AlertOrder = { target: { url: server.url, key: server.key }, sources: 100, posts: perSecond * seconds, perSecond };
    const reports: AlertReport[] = [];
    for (let round = -1; round < pairs; round++) {
      const report = (await (await ready('./alert-load.js', order))()) as AlertReport;
      if (round >= 0) reports.push(report);
    }
    const all = reports.map(({ delays }) => percentiles(delays));
    print(
      `monitors: from POST of a point to the alert on the stream of events, ${perSecond}/s over 100 sources, ${seconds} s, ${pairs} times`,
      {
        'p50, ms': spread(
          all.map(({ p50 }) => p50),
          2,
        ),
        'p99, ms': spread(
          all.map(({ p99 }) => p99),
          1,
        ),
      },
    );
  } finally {
    await server.remove();
  }
}

export const monitorFigures: readonly Figure[] = [
  {
    names: { monitors: 'D1 with 10,000 monitors of its sources, with none, and where nobody evaluates' },
    shape: 'embedded',
    run: evaluation(nobody, none, many),
  },
  { names: { 'monitors-elsewhere': 'D1 with monitors of other sources' }, shape: 'embedded', run: evaluation(none, ...elsewhere) },
  { names: { 'alert-latency': 'from POST of a point to the alert on the stream of events' }, shape: 'embedded', run: latency },
];
