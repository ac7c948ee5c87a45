import { setTimeout as pause } from 'node:timers/promises';
import { counted, loaded, tailMs } from './ingest-figures.js';
import { print, ratios, spread, type Asked, type Figure } from './report.js';
import { get, ServerProcess, type Settings, type Target } from './server-process.js';
import { dayStartMs, pointsOf, type Shape, sourceName } from './shapes.js';

const halfDayMs = 43_200_000;
const halfDays = 28;
/** What is sent of each half day. */
const shape: Shape = {
  name: 'keep',
  about: 'two weeks of 100 series with a point every 10 seconds, half a day after the other',
  sources: 10,
  metrics: 10,
  stepMs: 10_000,
  pointsPerBody: 8_640,
  bodies: 50,
  connections: 4,
  gzip: false,
};
const points = halfDays * pointsOf(shape);
const keep: Settings = { HEADWATER_KEEP_POINTS: '1d', HEADWATER_KEEP_1M: '2d', HEADWATER_KEEP_1H: '4d' };
const keepAll: Settings = {};
/** That have nothing left of the first half day in the end, unless all is kept. */
const intervals = ['raw', '1m', '1h'];

interface Kept {
  readonly cpuPerMpt: number;
  readonly storeBytes: number;
}

/** The intervals at which something of the half day that begins at `startMs` can still be read. */
async function intervalsOf(server: Target, startMs: number): Promise<string> {
  const left: string[] = [];
  const window = `start=${new Date(startMs).toISOString()}&end=${new Date(startMs + halfDayMs).toISOString()}`;
  for (const interval of intervals) {
    const answer = await get(server, `/v1/sources/${sourceName(0)}/metrics/query?${window}&interval=${interval}`);
    const { series } = (await answer.json()) as { series: object };
    if (Object.keys(series).length > 0) left.push(interval);
  }
  return left.join();
}

/** Sends two weeks to a server whose clock comes along, and voids the run unless what is no longer kept is gone, and days still count all points. */
async function fortnight(settings: Settings): Promise<Kept> {
  const server = await ServerProcess.embedded('./half-days.js', settings);
  try {
    const [beginMs, cpuS] = [Date.now(), server.cpuS()];
    for (let half = 0; half < halfDays; half++) {
      process.kill(server.pid, 'SIGUSR2');
      const send = await loaded({ url: server.url, key: server.key, shape, startMs: beginMs + half * halfDayMs });
      await send();
    }
    await pause(tailMs);
    const cpuPerMpt = (server.cpuS() - cpuS) / (points / 1e6);
    const endMs = beginMs + halfDays * halfDayMs;
    const seen = await counted(server, shape.metrics, dayStartMs(endMs));
    if (seen !== points) throw new Error(`${points} points were accepted and days count ${seen}: the run is void`);
    const left = await intervalsOf(server, beginMs);
    const expected = settings === keepAll ? intervals.join() : '';
    if (left !== expected) throw new Error(`of the first half day "${left}" can be read and not "${expected}": the run is void`);
    await server.stop();
    return { cpuPerMpt, storeBytes: server.diskBytes()['store.db']! };
  } finally {
    await server.remove();
  }
}

async function run({ pairs }: Asked): Promise<void> {
  const [some, all]: [Kept[], Kept[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    some.push(await fortnight(keep));
    all.push(await fortnight(keepAll));
  }
  const [cpu, allCpu] = [some, all].map((runs) => runs.map((one) => one.cpuPerMpt)) as [number[], number[]];
  const megabytes = (runs: readonly Kept[]): string =>
    spread(
      runs.map(({ storeBytes }) => storeBytes / 1e6),
      1,
    );
  const settings = Object.entries(keep).map((entry) => entry.join('='));
  print(`keep: ${shape.about}, ${points} points, ${settings.join(' ')}, ${tailMs / 1e3} idle seconds included, ${pairs} pairs`, {
    'cpu-s per million points': spread(cpu, 3),
    'all is kept, cpu-s per million points': spread(allCpu, 3),
    'ratio to that': spread(ratios(cpu, allCpu), 2),
    'store.db, stopped, MB': megabytes(some),
    'all is kept, store.db, stopped, MB': megabytes(all),
  });
}

export const keepFigure: Figure = { names: { keep: `what it costs that data goes: ${shape.about}` }, shape: 'embedded', run };
