import { onBoth } from './live-servers.js';
import { ready } from './processes.js';
import { median, print, ratios, spread, type Asked, type Figure } from './report.js';
import type { ServerProcess } from './server-process.js';
import type { StreamOrder } from './stream-load.js';

type Watching = Pick<StreamOrder, 'sources' | 'viewersOfEach' | 'posts' | 'sourcesOfPost' | 'perSecond'>;

/**
 * Sources are posted to less often than the server's ticks come, so that it has nothing to merge and both sides send as many frames. Where a source has
 * one viewer, each body has points of many sources: otherwise requests would cost much more than frames, and hide what frames cost.
 */
const watching: readonly Watching[] = [
  { viewersOfEach: 1, sources: 1_000, posts: 400, sourcesOfPost: 50, perSecond: 40 },
  { viewersOfEach: 100, sources: 10, posts: 1_500, sourcesOfPost: 1, perSecond: 100 },
  { viewersOfEach: 1_000, sources: 1, posts: 150, sourcesOfPost: 1, perSecond: 10 },
];

/** CPU seconds of the server for the posts of a run, and for the frames of their viewers if there are any. */
async function cpuS(server: ServerProcess, of: Watching): Promise<number> {
  const { url, key } = server;
  const target = { url, key };
  const order: StreamOrder = { ingress: target, gateway: target, pointsOfEach: 20, ...of };
  const send = await ready('./stream-load.js', order);
  const before = server.cpuS();
  await send();
  return server.cpuS() - before;
}

/** CPU seconds of each run, and what is left of them without those of the same posts that nobody watches. */
interface Cost {
  readonly all: number[];
  readonly frames: number[];
}

async function run({ pairs }: Asked): Promise<void> {
  await onBoth(async (...sides) => {
    for (const of of watching) {
      const costs = sides.map((): Cost => ({ all: [], frames: [] }));
      for (let pair = -1; pair < pairs; pair++) {
        for (const [at, side] of sides.entries()) {
          const [all, posts] = [await cpuS(side, of), await cpuS(side, { ...of, viewersOfEach: 0 })];
          if (pair < 0) continue;
          costs[at]!.all.push(all);
          costs[at]!.frames.push(all - posts);
        }
      }
      const [ours, floor] = costs as [Cost, Cost];
      const { viewersOfEach, sources, posts, sourcesOfPost, perSecond } = of;
      const perCpuS = (seconds: readonly number[]): number => Math.round((posts * sourcesOfPost * viewersOfEach) / median(seconds));
      const bodies = `${perSecond} bodies/s of 20 points of each of ${sourcesOfPost} sources`;
      print(`fan-out: ${viewersOfEach} viewers of each of ${sources} sources, ${bodies}, ${pairs} pairs`, {
        'frames per CPU second': perCpuS(ours.frames),
        'floor, frames per CPU second': perCpuS(floor.frames),
        'ratio to the floor': spread(ratios(floor.frames, ours.frames), 2),
        'the same, posts included': spread(ratios(floor.all, ours.all), 2),
      });
    }
  });
}

export const fanOutFigure: Figure = { names: { 'fan-out': 'frames to viewers of live streams' }, shape: 'embedded', run };
