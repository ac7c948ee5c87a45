import { onBoth } from './live-servers.js';
import { ready } from './processes.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import type { ServerProcess } from './server-process.js';
import type { StreamOrder } from './stream-load.js';

type Watching = Pick<StreamOrder, 'sources' | 'viewersOfEach' | 'posts' | 'perSecond'>;

/** Sources are posted to less often than the server's ticks come, so that it has nothing to merge and both sides send as many frames. */
const watching: readonly Watching[] = [
  { viewersOfEach: 1, sources: 1_000, posts: 20_000, perSecond: 2_000 },
  { viewersOfEach: 100, sources: 10, posts: 1_500, perSecond: 100 },
  { viewersOfEach: 1_000, sources: 1, posts: 150, perSecond: 10 },
];

/** Bodies that viewers have got, each of them one, for each CPU second of the server, that of the requests included. */
async function bodiesPerCpuS(server: ServerProcess, of: Watching): Promise<number> {
  const { url, key } = server;
  const order: StreamOrder = { target: { url, key }, pointsOfEach: 20, ...of };
  const send = await ready('./stream-load.js', order);
  const before = server.cpuS();
  await send();
  return (of.posts * of.viewersOfEach) / (server.cpuS() - before);
}

async function run({ pairs }: Asked): Promise<void> {
  await onBoth(async (server, bare) => {
    for (const of of watching) {
      const [ours, floor]: [number[], number[]] = [[], []];
      for (let pair = -1; pair < pairs; pair++) {
        const [one, other] = [await bodiesPerCpuS(server, of), await bodiesPerCpuS(bare, of)];
        if (pair < 0) continue;
        ours.push(one);
        floor.push(other);
      }
      const { viewersOfEach, sources, perSecond } = of;
      print(`fan-out: ${viewersOfEach} viewers of each of ${sources} sources, ${perSecond} bodies/s of 20 points, ${pairs} pairs`, {
        'bodies delivered per CPU second': Math.round(median(ours)),
        'floor, bodies delivered per CPU second': Math.round(median(floor)),
        'ratio to the floor': spread(ratios(ours, floor), 2),
      });
    }
  });
}

export const fanOutFigure: Figure = { names: ['fan-out'], shape: 'embedded', run };
