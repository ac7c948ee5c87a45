import { onBoth } from './live-servers.js';
import { ready } from './processes.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import type { ServerProcess } from './server-process.js';
import type { StreamOrder, StreamReport } from './stream-load.js';

type Watching = Pick<StreamOrder, 'sources' | 'viewersOfEach' | 'posts' | 'perSecond'>;

/** A source is not posted to twice within a tick of the server, so that both sides send as many frames. */
const watching: readonly Watching[] = [
  { viewersOfEach: 1, sources: 1_000, posts: 20_000, perSecond: 2_000 },
  { viewersOfEach: 100, sources: 10, posts: 2_500, perSecond: 250 },
  { viewersOfEach: 1_000, sources: 1, posts: 300, perSecond: 30 },
];

/** Frames that viewers have got for each CPU second of the server, that of the requests included. */
async function framesPerCpuS(server: ServerProcess, of: Watching): Promise<number> {
  const { url, key } = server;
  const order: StreamOrder = { target: { url, key }, pointsOfEach: 20, ...of };
  const send = await ready('./stream-load.js', order);
  const before = server.cpuS();
  const { frames } = (await send()) as StreamReport;
  return frames / (server.cpuS() - before);
}

async function run({ pairs }: Asked): Promise<void> {
  await onBoth(async (server, bare) => {
    for (const of of watching) {
      const [ours, floor]: [number[], number[]] = [[], []];
      for (let pair = -1; pair < pairs; pair++) {
        const [one, other] = [await framesPerCpuS(server, of), await framesPerCpuS(bare, of)];
        if (pair < 0) continue;
        ours.push(one);
        floor.push(other);
      }
      const { viewersOfEach, sources, perSecond } = of;
      print(`fan-out: ${viewersOfEach} viewers of each of ${sources} sources, ${perSecond} bodies/s of 20 points, ${pairs} pairs`, {
        'frames per CPU second': Math.round(median(ours)),
        'floor, frames per CPU second': Math.round(median(floor)),
        'ratio to the floor': spread(ratios(ours, floor), 2),
      });
    }
  });
}

export const fanOutFigure: Figure = { names: ['fan-out'], shape: 'embedded', run };
