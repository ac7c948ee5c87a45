import { execFileSync } from 'node:child_process';
import type { ClientOrder, ClientReport } from './client-load.js';
import { counted } from './ingest-figures.js';
import { ready } from './processes.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import { ownFolder, removeFolder, ServerProcess, until } from './server-process.js';
import { dayStartMs, pointsOf, type Shape } from './shapes.js';

const shape: Shape = { name: 'client', about: '', sources: 1, metrics: 20, pointsPerBody: 5_000, bodies: 100, connections: 1, gzip: false };
const warmBodies = 20;

interface Side extends Pick<ClientOrder, 'sender' | 'connects'> {
  readonly gzip?: boolean;
  readonly hasFolder?: boolean;
}

/** What sends the same points. The others are compared with the first. */
const sides: Readonly<Record<string, Side>> = {
  'fetch of bodies made before': { sender: 'fetch' },
  'the same, compressed when sent': { sender: 'fetch', gzip: true },
  'memory, HTTP': { sender: 'library' },
  'folder, HTTP': { sender: 'library', hasFolder: true },
  'memory, channel': { sender: 'library', connects: true },
  'folder, channel': { sender: 'library', connects: true, hasFolder: true },
};

/** One side in a process of its own. */
async function report({ url, key }: ServerProcess, startMs: number, firstSource: number, side: Side): Promise<ClientReport> {
  const { gzip = false, hasFolder, ...how } = side;
  const folder = hasFolder ? ownFolder('client') : undefined;
  const order = { url, key, shape: { ...shape, gzip, firstSource }, warmBodies, startMs, ...how, ...(folder !== undefined && { folder }) };
  const go = await ready('./client-load.js', order satisfies ClientOrder);
  const told = (await go()) as ClientReport;
  if (folder) removeFolder(folder);
  return told;
}

/** What a page loads that imports these names. */
function bundled(names: string): string {
  const client = new URL('../../libs/client/', import.meta.url).pathname;
  const said = execFileSync(process.execPath, [`${client}test-bundle.js`, `${client}browser.js`, names], { encoding: 'utf8' });
  const { kilobytes, zippedKilobytes } = JSON.parse(said) as { readonly kilobytes: number; readonly zippedKilobytes: number };
  return `${kilobytes.toFixed(1)} KB, compressed ${zippedKilobytes.toFixed(1)} KB`;
}

async function run({ pairs }: Asked): Promise<void> {
  const server = await ServerProcess.embedded();
  const startMs = dayStartMs(Date.now());
  const reports = Object.keys(sides).map((): ClientReport[] => []);
  let sources = 0;
  try {
    for (let round = 0; round < pairs; round++)
      for (const [at, side] of Object.values(sides).entries()) reports[at]!.push(await report(server, startMs, sources++, side));
    const sent = sources * pointsOf(shape);
    let seen = 0;
    await until(async () => (seen = await counted(server, shape.metrics, startMs)) === sent, 60_000).catch(() => {
      throw new Error(`client: ${sent} points were stored and ${seen} can be read: the run is void`);
    });
  } finally {
    await server.remove();
  }
  const points = shape.pointsPerBody * (shape.bodies - warmBodies);
  const cpuUs = reports.map((all) => all.map(({ cpuS }) => (1e6 * cpuS) / points));
  const bytes = reports.map((all) => all.map(({ heapBytes }) => heapBytes / points));
  const perS = reports.map((all) => median(all.map(({ wallS }) => points / wallS)));
  const row = (at: number): string =>
    [
      `cpu ${spread(cpuUs[at]!, 2)} µs, ratio ${spread(ratios(cpuUs[at]!, cpuUs[0]!), 1)}`,
      `heap ${spread(bytes[at]!, 0)} bytes, ratio ${spread(ratios(bytes[at]!, bytes[0]!), 1)}`,
      `${Math.round(perS[at]!)} points/s`,
    ].join('; ');
  print(
    `client: a point costs the process that sends it; ${points} points of ${shape.metrics} metrics, ${pairs} rounds`,
    Object.fromEntries(Object.keys(sides).map((side, at) => [side, row(at)])),
  );
  const imports = { Device: '{ Device }', Headwater: '{ Headwater }', both: '*' };
  print('client: what a page loads, minified', Object.fromEntries(Object.entries(imports).map(([name, of]) => [name, bundled(of)])));
}

/** The client library beside a bare `fetch` of the same points. */
export const clientFigure: Figure = { names: { client: 'sending with the client library, against a bare fetch' }, shape: 'embedded', run };
