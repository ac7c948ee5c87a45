import { loaded, tailMs } from './ingest-figures.js';
import { setTimeout as pause } from 'node:timers/promises';
import { print, spread, type Asked, type Figure } from './report.js';
import { get, ServerProcess } from './server-process.js';
import { dayStartMs, metricName, pointsOf, type Shape, sourceName } from './shapes.js';

const heapMb = 512;
const options = [`--max-old-space-size=${heapMb}`];
const dayMs = 86_400_000;
const shape: Shape = {
  name: 'open',
  about: `a start with a heap of ${heapMb} MB on the folder of 50,000 sources × 100 metrics`,
  sources: 50_000,
  metrics: 100,
  pointsPerBody: 100,
  bodies: 50_000,
  connections: 16,
  gzip: false,
};
const asked = sourceName(shape.sources - 7);

interface Opened {
  readonly readyS: number;
  /** From the first moment of the process to the answer with the day of a source. */
  readonly answeredS: number;
  readonly memoryMb: number;
  /** Once the server has looked at all names. */
  readonly laterMemoryMb: number;
}

/** Makes the folder, of a server that is then stopped. */
async function filled(server: ServerProcess, startMs: number): Promise<void> {
  const send = await loaded({ url: server.url, key: server.key, shape, startMs });
  await send();
  await pause(tailMs);
  await server.stop();
}

async function open(server: ServerProcess, startMs: number): Promise<Opened> {
  const begun = performance.now();
  const readyS = await server.start(options);
  const memoryMb = server.memoryMb();
  const window = `start=${new Date(startMs).toISOString()}&end=${new Date(startMs + dayMs).toISOString()}`;
  const answer = await get(server, `/v1/sources/${asked}/metrics/query?${window}&interval=1h`);
  const text = await answer.text();
  const answeredS = (performance.now() - begun) / 1e3;
  const lacks = Array.from({ length: shape.metrics }, (_, metric) => metricName(metric)).filter((name) => !text.includes(`"${name}"`));
  if (!answer.ok || lacks.length > 0)
    throw new Error(
      `${answer.status}, without ${lacks.length} metrics: the run is void, after ${readyS.toFixed(2)} s: ${text.slice(0, 200)}`,
    );
  await pause(tailMs);
  const laterMemoryMb = server.memoryMb();
  await server.stop();
  return { readyS, answeredS, memoryMb, laterMemoryMb };
}

async function run({ pairs }: Asked): Promise<void> {
  const [server, empty] = [await ServerProcess.embedded(), await ServerProcess.embedded()];
  try {
    await empty.stop();
    const startMs = dayStartMs(Date.now());
    await filled(server, startMs);
    const runs: Opened[] = [];
    const others: number[] = [];
    for (let at = 0; at < pairs; at++) {
      runs.push(await open(server, startMs));
      others.push(await empty.start(options));
      await empty.stop();
    }
    const of = (what: keyof Opened, digits: number): string =>
      spread(
        runs.map((one) => one[what]),
        digits,
      );
    print(`open: ${shape.about}, ${pointsOf(shape)} points, ${pairs} starts`, {
      'seconds until ready': of('readyS', 2),
      'an empty folder, seconds until ready': spread(others, 2),
      'seconds until one source was read': of('answeredS', 2),
      'memory when ready, MB': of('memoryMb', 0),
      'memory later, MB': of('laterMemoryMb', 0),
      'bytes of the store': server.diskBytes()['store.db']!,
    });
  } finally {
    await Promise.all([server.remove(), empty.remove()]);
  }
}

export const openFigure: Figure = { names: { open: shape.about }, shape: 'embedded', run };
