import { arch, cpus, totalmem } from 'node:os';
import { fetchServers } from '../servers/index.js';
import { backupFigure } from './backup-figure.js';
import { channelFigure } from './channel-figure.js';
import { clientFigure } from './client-figure.js';
import { readCommandLine, usage } from './command-line.js';
import { deliveryFigure } from './delivery-figure.js';
import { fanOutFigure } from './fan-out-figure.js';
import { hostileFigure } from './hostile-figure.js';
import { idleFigure } from './idle-figure.js';
import { ingestFigures } from './ingest-figures.js';
import { ingressFigure } from './ingress-figure.js';
import { keepFigure } from './keep-figure.js';
import { latencyFigures, liveFigure } from './latency-figures.js';
import { pipelineFigures } from './pipeline-figures.js';
import { clusterReads, embeddedReads } from './read-figures.js';
import { openFigure } from './open-figure.js';
import { monitorFigures } from './monitor-figures.js';
import type { Figure } from './report.js';
import { visibilityFigure } from './visibility-figure.js';

const figures: readonly Figure[] = [
  ...ingestFigures,
  embeddedReads,
  hostileFigure,
  ...latencyFigures,
  channelFigure,
  clientFigure,
  fanOutFigure,
  idleFigure,
  openFigure,
  keepFigure,
  backupFigure,
  ...monitorFigures,
  deliveryFigure,
  ingressFigure,
  pipelineFigures,
  visibilityFigure,
  liveFigure,
  clusterReads,
];

/** Why what needs the servers of a cluster cannot run here; undefined when it can. */
const missing = (): Promise<string | undefined> =>
  fetchServers().then(
    () => undefined,
    (error: Error) => error.message,
  );

async function main(): Promise<void> {
  const { pairs, names, wantsHelp } = readCommandLine(process.argv.slice(2), figures);
  if (wantsHelp) return console.log(usage(figures));
  const wanted = (name: string): boolean => names.length === 0 || names.includes(name);
  const [cpu] = cpus();
  console.log(`Node ${process.version}, ${cpus().length} × ${cpu?.model ?? arch()}, ${Math.round(totalmem() / 2 ** 30)} GiB`);
  const asked = figures.filter((figure) => Object.keys(figure.names).some(wanted));
  const why = asked.some(({ shape }) => shape === 'cluster') ? await missing() : undefined;
  if (why && names.length > 0) throw new Error(why);
  for (const figure of asked) if (!why || figure.shape === 'embedded') await figure.run({ pairs, wanted });
  const left = asked.filter(({ shape }) => why && shape === 'cluster').flatMap((figure) => Object.keys(figure.names));
  if (left.length > 0) console.log(`\nnot run: ${left.join(', ')}. ${why}`);
}

// What is left in temporary folders goes with the end of the process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
await main().catch((error: Error) => {
  console.error(error.message);
  process.exit(1);
});
