import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { RawData } from 'ws';
import { closeAll, openAll, post, stream } from './live-client.js';
import { work } from './processes.js';
import type { Target } from './server-process.js';
import { metricName, sourceName } from './shapes.js';

/** Posts points of some sources at a fixed rate, so many sources after the other in each body, while each of them is watched. */
export interface StreamOrder {
  /** Where points are posted. */
  readonly ingress: Target;
  /** Where they are watched. */
  readonly gateway: Target;
  readonly sources: number;
  /** 0 for posts that nobody watches. */
  readonly viewersOfEach: number;
  readonly posts: number;
  readonly sourcesOfPost: number;
  readonly pointsOfEach: number;
  readonly perSecond: number;
}

export interface StreamReport {
  /** From sending each body until the first viewer of its source has it, milliseconds. */
  readonly delays: readonly number[];
}

interface Message {
  readonly points: readonly { readonly value: number }[];
}

await work(async (order: StreamOrder) => {
  const { ingress, gateway, sources, viewersOfEach, posts, sourcesOfPost, pointsOfEach, perSecond } = order;
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const sentMs: number[] = [];
  let delays: number[] = [];
  let [frames, points] = [0, 0];

  const sockets = await openAll(sources * viewersOfEach, (at) => stream(gateway, sourceName(at % sources), 'metrics'));
  for (const [at, socket] of sockets.entries()) {
    socket.on('message', (data: RawData) => {
      frames++;
      if (at < sources) {
        const nowMs = performance.now();
        const message = JSON.parse((data as Buffer).toString()) as Message;
        points += message.points.length;
        delays.push(nowMs - sentMs[message.points.at(-1)!.value]!);
      }
    });
  }

  const send = async (from: number, to: number): Promise<void> => {
    const begunMs = performance.now();
    const sent: Promise<unknown>[] = [];
    for (let value = from; value < to; value++) {
      const dueMs = begunMs + (1_000 * (value - from)) / perSecond - performance.now();
      if (dueMs > 0) await pause(dueMs);
      sentMs[value] = performance.now();
      const timestamp = Date.now();
      const body = Array.from({ length: sourcesOfPost * pointsOfEach }, (_, at) => {
        const source = value * sourcesOfPost + Math.floor(at / pointsOfEach);
        return { source_id: sourceName(source % sources), metric: metricName(at % pointsOfEach), value, timestamp };
      });
      sent.push(post(ingress, agent, '/ingest', JSON.stringify({ points: body })));
    }
    await Promise.all(sent);
  };
  /** Resolves when so many points have come and no frame comes any more, after 10 s at the latest. */
  const quiet = async (posted: number): Promise<void> => {
    for (let looks = 0; looks < 100; looks++) {
      const before = frames;
      await pause(100);
      if (points >= posted && frames === before) return;
    }
  };
  // Once every viewer has had a frame, all of them are watching.
  const watching = new Set<number>();
  for (const [at, socket] of sockets.entries()) socket.once('message', () => watching.add(at));
  const round = Math.ceil(sources / sourcesOfPost);
  for (let from = 0; watching.size < sockets.length; from += round) {
    if (from > 50 * round) throw new Error('not every viewer of the bench gets frames: the run is void');
    await send(from, from + round);
    await pause(100);
  }

  return async (): Promise<StreamReport> => {
    [delays, frames, points] = [[], 0, 0];
    await send(0, posts);
    const posted = viewersOfEach > 0 ? posts * sourcesOfPost * pointsOfEach : 0;
    await quiet(posted);
    if (points !== posted) throw new Error(`${posted} points were posted and ${points} streamed: the run is void`);
    await closeAll(sockets);
    agent.destroy();
    return { delays };
  };
});
