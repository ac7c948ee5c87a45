import { charge } from './ingest-figures.js';
import { print, ratios, spread, type Asked, type Figure } from './report.js';
import { ServerProcess } from './server-process.js';
import { dayStartMs, shapes } from './shapes.js';

const shape = shapes.find(({ name }) => name === 'D3')!;

/** Microseconds of CPU that the server spends on one 1-point request, over 64 connections. */
async function requestCost(start: () => Promise<ServerProcess>): Promise<number> {
  const server = await start();
  try {
    return (await charge(server, shape, dayStartMs(Date.now()))).cpuPerMpt;
  } finally {
    await server.remove();
  }
}

async function run({ pairs }: Asked): Promise<void> {
  const ours: number[] = [];
  const floor: number[] = [];
  for (let pair = 0; pair < pairs; pair++) {
    ours.push(await requestCost(() => ServerProcess.embedded()));
    floor.push(await requestCost(() => ServerProcess.floor('collect')));
  }
  print(`G5: 1-point requests per core, ${pairs} pairs`, {
    'cpu-µs a request': spread(ours, 1),
    'floor, cpu-µs a request': spread(floor, 1),
    'requests per core, of the floor': spread(ratios(floor, ours), 2),
  });
}

export const requestFigure: Figure = { names: ['G5'], shape: 'embedded', run };
