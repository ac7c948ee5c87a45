import { arch, cpus, totalmem } from 'node:os';
import { type Charge, floorRun, ingestRun, type IngestRun } from './ingest-figures.js';
import type { ProbeReport } from './probe.js';
import { fill, probe, readFigures } from './read-figures.js';
import { requestCost } from './request-figure.js';
import { ServerProcess } from './server-process.js';
import { pointsOf, shapes } from './shapes.js';

const asked = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const pairs = Number(process.argv.find((word) => word.startsWith('--pairs='))?.slice(8) ?? 5);
const wanted = (name: string): boolean => asked.length === 0 || asked.includes(name);

const sorted = (of: readonly number[]): number[] => of.toSorted((a, b) => a - b);
const median = (of: readonly number[]): number => sorted(of)[Math.floor(of.length / 2)]!;
const shown = (of: readonly number[], digits: number): string => {
  const all = sorted(of);
  return `${median(of).toFixed(digits)} (${all[0]!.toFixed(digits)}–${all.at(-1)!.toFixed(digits)})`;
};

function print(figure: string, columns: Readonly<Record<string, string | number>>): void {
  console.log(`\n${figure}`);
  for (const [name, value] of Object.entries(columns)) console.log(`  ${name.padEnd(34)} ${value}`);
  console.log(JSON.stringify({ figure, ...columns }));
}

async function ingest(): Promise<void> {
  for (const shape of shapes.filter(({ name }) => wanted(name))) {
    const ours: IngestRun[] = [];
    const floor: Charge[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      ours.push(await ingestRun(shape));
      floor.push(await floorRun(shape));
    }
    const last = ours.at(-1)!;
    const perPoint = Object.entries(last.diskBytes).filter(([, bytes]) => bytes > pointsOf(shape) / 10);
    print(`${shape.name}: ${shape.about}, ${pointsOf(shape)} points, fsynced, ${pairs} pairs`, {
      'cpu-s per million points': shown(
        ours.map((run) => run.cpuPerMpt),
        3,
      ),
      'floor, cpu-s per million points': shown(
        floor.map((run) => run.cpuPerMpt),
        3,
      ),
      'ratio to the floor': shown(
        ours.map((run, at) => run.cpuPerMpt / floor[at]!.cpuPerMpt),
        2,
      ),
      'points/s (wall)': Math.round(median(ours.map((run) => run.pointsPerS))),
      'load generator, cpu-s per million': shown(
        ours.map((run) => run.loadCpuPerMpt),
        3,
      ),
      'peak memory, MB': shown(
        ours.map((run) => run.peakMemoryMb),
        0,
      ),
      'bytes per point on disk, stopped': perPoint.map(([file, bytes]) => `${file} ${(bytes / pointsOf(shape)).toFixed(2)}`).join(', '),
    });
  }
}

async function reads(): Promise<void> {
  const figures = readFigures.filter(({ name }) => wanted(name.split(' ')[0]!));
  if (figures.length === 0) return;
  const server = await ServerProcess.embedded();
  const floor = await ServerProcess.floor('collect');
  const nowMs = Date.now();
  await fill(server, nowMs);
  for (const { name, about, path, perSecond, requests } of figures) {
    const common = { key: server.key, perSecond, requests, warmUp: 20 };
    const ours: ProbeReport[] = [];
    const theirs: ProbeReport[] = [];
    for (let pair = 0; pair < pairs; pair++) {
      ours.push(await probe({ ...common, url: server.url + path(nowMs) }));
      theirs.push(await probe({ ...common, url: `${floor.url}/${ours[0]!.bytes}` }));
    }
    print(`${name}: ${about}, ${perSecond} requests/s, ${ours[0]!.bytes} bytes, ${pairs} pairs`, {
      'p50, ms': shown(
        ours.map((run) => run.p50),
        2,
      ),
      'p99, ms': shown(
        ours.map((run) => run.p99),
        2,
      ),
      'max, ms': shown(
        ours.map((run) => run.max),
        2,
      ),
      'floor p50, ms': shown(
        theirs.map((run) => run.p50),
        2,
      ),
      'ratio of p50 to the floor': shown(
        ours.map((run, at) => run.p50 / theirs[at]!.p50),
        1,
      ),
    });
  }
  await server.stop();
  const restarts: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    restarts.push(await server.start());
    await server.stop();
  }
  print('restart on that folder', { 'seconds until ready': shown(restarts, 2) });
  await server.start();
  await server.remove();
  await floor.remove();
}

async function request(): Promise<void> {
  if (!wanted('G5')) return;
  const ours: number[] = [];
  const floor: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    ours.push(await requestCost('embedded'));
    floor.push(await requestCost('collect'));
  }
  print(`G5: 1-point requests per core, ${pairs} pairs`, {
    'cpu-µs a request': shown(ours, 1),
    'floor, cpu-µs a request': shown(floor, 1),
    'requests per core, of the floor': shown(
      ours.map((cost, at) => floor[at]! / cost),
      2,
    ),
  });
}

const [cpu] = cpus();
console.log(`Node ${process.version}, ${cpus().length} × ${cpu?.model ?? arch()}, ${Math.round(totalmem() / 2 ** 30)} GiB`);
await ingest();
await request();
await reads();
