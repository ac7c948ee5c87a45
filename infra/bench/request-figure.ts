import { charge } from './ingest-figures.js';
import { ServerProcess } from './server-process.js';
import { dayStartMs, shapes } from './shapes.js';

/** Microseconds of CPU that the server spends on one 1-point request, over 64 connections. */
export async function requestCost(side: 'embedded' | 'collect'): Promise<number> {
  const server = side === 'embedded' ? await ServerProcess.embedded() : await ServerProcess.floor(side);
  try {
    return (
      await charge(
        server,
        shapes.find(({ name }) => name === 'D3')!,
        dayStartMs(Date.now()),
      )
    ).cpuPerMpt;
  } finally {
    await server.remove();
  }
}
