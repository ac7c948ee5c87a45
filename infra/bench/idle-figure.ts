import { setTimeout as pause } from 'node:timers/promises';
import type { IdleOrder } from './idle-load.js';
import { ready } from './processes.js';
import { print, ratios, spread, type Asked, type Figure } from './report.js';
import { ServerProcess } from './server-process.js';

const devices = 10_000;
const settleMs = 15_000;
/** In so long each device sends one heartbeat, and answers one ping. */
const idleMs = 30_000;

interface Idle {
  readonly kbOfEach: number;
  /** CPU seconds that it takes to connect one, milliseconds. */
  readonly connectMs: number;
  /** Share of a core while all are idle. */
  readonly load: number;
}

async function idle(start: () => Promise<ServerProcess>): Promise<Idle> {
  const server = await start();
  try {
    const { url, key } = server;
    const [memoryMb, cpuS] = [server.memoryMb(), server.cpuS()];
    const end = await ready('./idle-load.js', { url, key, devices } satisfies IdleOrder);
    const connectMs = ((server.cpuS() - cpuS) / devices) * 1_000;
    await pause(settleMs);
    const settledS = server.cpuS();
    await pause(idleMs);
    const load = (server.cpuS() - settledS) / (idleMs / 1_000);
    const kbOfEach = ((server.memoryMb() - memoryMb) * 1_024) / devices;
    await end();
    return { kbOfEach, connectMs, load };
  } finally {
    await server.remove();
  }
}

async function run({ pairs }: Asked): Promise<void> {
  const [ours, floor]: [Idle[], Idle[]] = [[], []];
  for (let pair = 0; pair < pairs; pair++) {
    ours.push(await idle(() => ServerProcess.embedded()));
    floor.push(await idle(() => ServerProcess.liveFloor()));
  }
  const [load, floorLoad] = [ours.map((one) => one.load), floor.map((one) => one.load)];
  const over = ours.map(({ kbOfEach }, pair) => kbOfEach - floor[pair]!.kbOfEach);
  print(`idle: ${devices} devices with pings and heartbeats every 30 s, ${pairs} pairs`, {
    'memory of each, KB': spread(
      ours.map((one) => one.kbOfEach),
      1,
    ),
    'floor, memory of each, KB': spread(
      floor.map((one) => one.kbOfEach),
      1,
    ),
    'memory of each over the floor, KB': spread(over, 1),
    'share of a core': spread(load, 3),
    'floor, share of a core': spread(floorLoad, 3),
    'ratio of cpu to the floor': spread(ratios(load, floorLoad), 2),
    'cpu of connecting one, ms': spread(
      ours.map((one) => one.connectMs),
      2,
    ),
    'floor, cpu of connecting one, ms': spread(
      floor.map((one) => one.connectMs),
      2,
    ),
  });
}

export const idleFigure: Figure = { names: { idle: 'memory and CPU of devices that only stay connected' }, shape: 'embedded', run };
