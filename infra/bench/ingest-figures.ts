import { setTimeout as pause } from 'node:timers/promises';
import { print, ratios, median, spread, type Asked, type Figure } from './report.js';
import type { Reading } from './floor.js';
import { get, ServerProcess, until, type Target } from './server-process.js';
import { dayStartMs, metricName, pointsOf, shapes, type Shape } from './shapes.js';
import type { LoadOrder, LoadReport } from './load.js';
import { ready } from './processes.js';
import { threadMeter } from './threads.js';

/** In so long the server pays what it put off. */
export const tailMs = 6_000;
const dayMs = 86_400_000;

/** One side of one pair. */
interface Charge {
  readonly cpuPerMpt: number;
  /** The same by thread. */
  readonly threads: Readonly<Record<string, number>>;
  readonly pointsPerS: number;
  readonly loadCpuPerMpt: number;
  readonly peakMemoryMb: number;
}

interface IngestRun extends Charge {
  /** Of each file once the server has stopped, so that nothing is left in a write-ahead file. */
  readonly diskBytes: Readonly<Record<string, number>>;
}

/** What is charged for a load. */
export interface Charged extends Target {
  readonly pid: number;
  cpuS(): number;
  peakMemoryMb(): number;
}

/** What sends a shape: as requests, or as frames of connected devices. */
export type Loader = './load.js' | './frame-load.js';

/** A load whose bodies are made. Its sending rejects, which voids the run, when a body is refused. */
export async function loaded(order: LoadOrder, loader: Loader = './load.js'): Promise<() => Promise<LoadReport>> {
  const send = await ready(loader, order);
  return async () => {
    const report = (await send()) as LoadReport;
    if (report.refused > 0) throw new Error(`${report.refused} of ${order.shape.bodies} bodies were refused: the run is void`);
    return report;
  };
}

/** Sends the shape and charges the server from the first byte to `tailMs` after the last answer. */
export async function charge(server: Charged, shape: Shape, startMs: number, loader?: Loader): Promise<Charge> {
  const send = await loaded({ url: server.url, key: server.key, shape, startMs }, loader);
  const used = threadMeter(server.pid);
  const report = await send();
  await pause(tailMs);
  const mpt = pointsOf(shape) / 1e6;
  const threads = Object.fromEntries(Object.entries(used()).map(([thread, cpuS]) => [thread, cpuS / mpt]));
  return {
    cpuPerMpt: Object.values(threads).reduce((sum, cpu) => sum + cpu, 0),
    threads,
    pointsPerS: pointsOf(shape) / report.wallS,
    loadCpuPerMpt: report.cpuS / mpt,
    peakMemoryMb: server.peakMemoryMb(),
  };
}

/** Points that the public API counts over all sources in the first so many metrics: a window of a year has buckets of a day, so a row a source. */
export async function counted(server: Target, metrics: number, startMs: number): Promise<number> {
  let sum = 0;
  const endMs = startMs + dayMs;
  const window = `start=${new Date(endMs - 365 * dayMs).toISOString()}&end=${new Date(endMs).toISOString()}`;
  for (let metric = 0; metric < metrics; metric++) {
    const answer = await get(server, `/v1/fleet/metrics?metric=${metricName(metric)}&${window}`);
    const { sources } = (await answer.json()) as { sources: { count: number[] }[] };
    for (const { count } of sources) for (const n of count) sum += n;
  }
  return sum;
}

/** Runs one shape against Headwater, and voids the run unless the public API counts exactly what was sent. */
async function ingestRun(shape: Shape): Promise<IngestRun> {
  const server = await ServerProcess.embedded();
  try {
    const startMs = dayStartMs(Date.now());
    const run = await charge(server, shape, startMs);
    let seen = 0;
    await until(async () => (seen = await counted(server, shape.metrics, startMs)) === pointsOf(shape), 20_000).catch(() => {
      throw new Error(`${shape.name}: ${pointsOf(shape)} points were accepted and ${seen} can be read: the run is void`);
    });
    await server.stop();
    return { ...run, diskBytes: server.diskBytes() };
  } finally {
    await server.remove();
  }
}

/** Runs one shape against a floor. */
async function floorRun(shape: Shape, reading?: Reading): Promise<Charge> {
  const floor = await ServerProcess.floor(reading);
  try {
    return await charge(floor, shape, dayStartMs(Date.now()));
  } finally {
    await floor.remove();
  }
}

/** A row for each thread that has used anything. */
function byThread(of: string, runs: readonly Charge[], digits: number): Record<string, string> {
  const names = [...new Set(runs.flatMap(({ threads }) => Object.keys(threads)))];
  const rows = names.map((name) => [name, runs.map(({ threads }) => threads[name] ?? 0)] as const);
  const busy = rows.filter(([name, cpu]) => name === 'others' || cpu.some((one) => one > 0));
  return Object.fromEntries(busy.map(([name, cpu]) => [`${of} ${name}`, spread(cpu, digits)]));
}

async function figure(shape: Shape, { pairs }: Asked): Promise<void> {
  const ours: IngestRun[] = [];
  const floor: Charge[] = [];
  const parsing: Charge[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    ours.push(await ingestRun(shape));
    floor.push(await floorRun(shape));
    if (shape.parsed) parsing.push(await floorRun(shape, 'parse'));
  }
  const over = (of: (one: IngestRun) => number, digits: number): string => spread(ours.map(of), digits);
  const cpu = ours.map((one) => one.cpuPerMpt);
  const floorCpu = floor.map((one) => one.cpuPerMpt);
  const parsingCpu = parsing.map((one) => one.cpuPerMpt);
  // A microsecond of a point is a second of a million points.
  const [unit, digits] = shape.pointsPerBody === 1 ? (['µs of cpu per request', 1] as const) : (['cpu-s per million points', 3] as const);
  const files = Object.entries(ours.at(-1)!.diskBytes).filter(([, bytes]) => bytes > pointsOf(shape) / 10);
  const perPoint = files.map(([file, bytes]) => `${file} ${(bytes / pointsOf(shape)).toFixed(2)}`);
  print(`${shape.name}: ${shape.about}, ${pointsOf(shape)} points, fsynced, ${tailMs / 1e3} idle seconds included, ${pairs} pairs`, {
    [unit]: spread(cpu, digits),
    ...byThread('of it', ours, digits),
    [`floor, ${unit}`]: spread(floorCpu, digits),
    ...byThread('floor, of it', floor, digits),
    'ratio to the floor': spread(ratios(cpu, floorCpu), 2),
    ...(shape.parsed && {
      [`floor that parses, ${unit}`]: spread(parsingCpu, digits),
      'ratio to the floor that parses': spread(ratios(cpu, parsingCpu), 2),
    }),
    'points/s (wall)': Math.round(median(ours.map((one) => one.pointsPerS))),
    [`load generator, ${unit}`]: over((one) => one.loadCpuPerMpt, digits),
    'peak memory, MB': over((one) => one.peakMemoryMb, 0),
    'bytes per point on disk, stopped': perPoint.join(', '),
  });
}

export const ingestFigures: readonly Figure[] = shapes.map((shape) => ({
  names: { [shape.name]: `POST /ingest: ${shape.about}` },
  shape: 'embedded',
  run: (asked) => figure(shape, asked),
}));
