import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get, pause, ServerProcess, until } from './server-process.js';
import { dayStartMs, metricName, pointsOf, type Shape } from './shapes.js';
import type { LoadOrder, LoadReport } from './load.js';

const tailMs = 5_000;
const dayMs = 86_400_000;

/** One side of one pair. */
export interface Charge {
  readonly cpuPerMpt: number;
  readonly pointsPerS: number;
  readonly loadCpuPerMpt: number;
  readonly peakMemoryMb: number;
}

export interface IngestRun extends Charge {
  /** Of each file once the server has stopped, so that nothing is left in a write-ahead file. */
  readonly diskBytes: Readonly<Record<string, number>>;
}

/** Sends the shape and charges the server from the first byte to 5 s after the last answer, so that what it put off is paid. */
export async function charge(server: ServerProcess, shape: Shape, startMs: number): Promise<Charge> {
  const load = fork(new URL('./load.js', import.meta.url));
  load.send({ url: server.url, key: server.key, shape, startMs } satisfies LoadOrder);
  await once(load, 'message');
  const before = server.cpuS();
  load.send('go');
  const [report] = (await once(load, 'message')) as [LoadReport];
  await pause(tailMs);
  const cpuS = server.cpuS() - before;
  if (report.refused > 0) throw new Error(`${report.refused} of ${shape.bodies} bodies were refused: the run is void`);
  const mpt = pointsOf(shape) / 1e6;
  return {
    cpuPerMpt: cpuS / mpt,
    pointsPerS: pointsOf(shape) / report.wallS,
    loadCpuPerMpt: report.cpuS / mpt,
    peakMemoryMb: server.peakMemoryMb(),
  };
}

/** Points that the public API counts over all sources and metrics of a shape: a window of a year has buckets of a day, so a row a source. */
async function counted(server: ServerProcess, shape: Shape, startMs: number): Promise<number> {
  let sum = 0;
  const endMs = startMs + dayMs;
  const window = `start=${new Date(endMs - 365 * dayMs).toISOString()}&end=${new Date(endMs).toISOString()}`;
  for (let metric = 0; metric < shape.metrics; metric++) {
    const answer = await get(server, `/v1/fleet/metrics?metric=${metricName(metric)}&${window}`);
    const { sources } = (await answer.json()) as { sources: { count: number[] }[] };
    for (const { count } of sources) for (const n of count) sum += n;
  }
  return sum;
}

/** Runs one shape against Headwater, and voids the run unless the public API counts exactly what was sent. */
export async function ingestRun(shape: Shape): Promise<IngestRun> {
  const server = await ServerProcess.embedded();
  try {
    const startMs = dayStartMs(Date.now());
    const run = await charge(server, shape, startMs);
    let seen = 0;
    await until(async () => (seen = await counted(server, shape, startMs)) === pointsOf(shape), 20_000).catch(() => {
      throw new Error(`${shape.name}: ${pointsOf(shape)} points were accepted and ${seen} can be read: the run is void`);
    });
    await server.stop();
    return { ...run, diskBytes: server.diskBytes() };
  } finally {
    await server.remove();
  }
}

/** Runs one shape against the floor. */
export async function floorRun(shape: Shape): Promise<Charge> {
  const floor = await ServerProcess.floor('parse');
  try {
    return await charge(floor, shape, dayStartMs(Date.now()));
  } finally {
    await floor.remove();
  }
}
