import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { counted, loaded, tailMs } from './ingest-figures.js';
import { print, spread, type Asked, type Figure } from './report.js';
import { headwater, ownFolder, removeFolder, ServerProcess } from './server-process.js';
import { dayStartMs, pointsOf, type Shape } from './shapes.js';

const fleet = { name: 'backup', about: '400 sources × 20 metrics', sources: 400, metrics: 20, connections: 4, gzip: false };
/** Of the larger one, most files of the log no longer change. */
const shapes: readonly Shape[] = [
  { ...fleet, pointsPerBody: 2_500, bodies: 400 },
  { ...fleet, pointsPerBody: 10_000, bodies: 1_000 },
];

interface Timed {
  readonly seconds: number;
  /** Where the log ends that is in the backup. */
  readonly head: number;
  /** What a backup has written. */
  readonly bytes_written?: number;
}

async function timed(...args: readonly string[]): Promise<Timed> {
  const begun = performance.now();
  const told = JSON.parse(await headwater(...args, '--json')) as Omit<Timed, 'seconds'>;
  return { ...told, seconds: (performance.now() - begun) / 1e3 };
}

/** Backs up, restores, and answers what each step took. Voids the run unless the restored log ends where the log in the backup does. */
async function round({ dataFolder: data }: ServerProcess): Promise<Readonly<Record<string, Timed>>> {
  const folder = ownFolder('backup');
  const [into, file, back] = ['folder', 'file.tar', 'back'].map((name) => join(folder, name)) as [string, string, string];
  try {
    const first = await timed('backup', into, '--data', data);
    const second = await timed('backup', into, '--data', data);
    const restored = await timed('restore', into, '--data', back);
    const inFile = await timed('backup', file, '--data', data);
    if (restored.head !== second.head) throw new Error(`${restored.head} came back of ${second.head}: the run is void`);
    return { 'into a new folder': first, 'into that folder again': second, 'into a file': inFile, 'restore of the folder': restored };
  } finally {
    removeFolder(folder);
  }
}

async function measure(shape: Shape, pairs: number): Promise<void> {
  const server = await ServerProcess.embedded();
  try {
    const startMs = dayStartMs(Date.now());
    const send = await loaded({ url: server.url, key: server.key, shape, startMs });
    await send();
    await pause(tailMs);
    const seen = await counted(server, shape.metrics, startMs);
    if (seen !== pointsOf(shape)) throw new Error(`${pointsOf(shape)} points were accepted and ${seen} can be read: the run is void`);
    const rounds: Readonly<Record<string, Timed>>[] = [];
    while (rounds.length < pairs) rounds.push(await round(server));
    const columns = Object.keys(rounds[0]!).map((step) => {
      const seconds = rounds.map((one) => one[step]!.seconds);
      const { bytes_written: bytes } = rounds[0]![step]!;
      return [`${step}, seconds`, `${spread(seconds, 2)}${bytes === undefined ? '' : `, ${(bytes / 1e6).toFixed(1)} MB written`}`];
    });
    print(
      `backup: a server with ${pointsOf(shape)} points of ${shape.about}, ${pairs} times; goal: 10 s for a million`,
      Object.fromEntries(columns) as Record<string, string>,
    );
  } finally {
    await server.remove();
  }
}

async function run({ pairs }: Asked): Promise<void> {
  for (const shape of shapes) await measure(shape, pairs);
}

export const backupFigure: Figure = { names: { backup: 'seconds of backup and restore, with a server running' }, shape: 'embedded', run };
