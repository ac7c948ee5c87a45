import { Agent } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import type { RawData } from 'ws';
import { closeAll, openAll, post, stream } from './live-client.js';
import { work } from './processes.js';
import type { Target } from './server-process.js';
import { sourceName } from './shapes.js';

/** Posts points that fire and resolve the alerts of some sources in turn, at a fixed rate, while the events of each source are watched. */
export interface AlertOrder {
  readonly target: Target;
  readonly sources: number;
  readonly posts: number;
  readonly perSecond: number;
}

export interface AlertReport {
  /** From sending each point until a viewer has the event that says what it did, milliseconds. */
  readonly delays: readonly number[];
}

interface Message {
  readonly metric?: string;
  readonly source_id: string;
}

const metric = 'bench.heat';
const max = 80;

await work(async ({ target, sources, posts, perSecond }: AlertOrder) => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  await post(target, agent, '/api/monitors', JSON.stringify({ source_id: '*', metric, threshold: { max } }));
  const sentMs = new Map<string, number>();
  const heard = new Set<string>();
  let delays: number[] = [];
  const sockets = await openAll(sources, (at) => stream(target, sourceName(at), 'logs'));
  for (const socket of sockets) {
    socket.on('message', (data: RawData) => {
      const { metric: event, source_id: id } = JSON.parse((data as Buffer).toString()) as Message;
      if (!event?.startsWith('alert.')) return;
      delays.push(performance.now() - sentMs.get(id)!);
      heard.add(id);
    });
  }
  const send = async (at: number): Promise<void> => {
    const source = sourceName(at % sources);
    // Each round of the sources is on the other side of the bound.
    const value = Math.floor(at / sources) % 2 === 0 ? max + 1 : 0;
    sentMs.set(source, performance.now());
    await post(target, agent, '/ingest', JSON.stringify({ source_id: source, points: [{ metric, value, timestamp: Date.now() }] }));
  };
  // Once every viewer has heard of an alert, all of them are watching, and the monitor is known.
  let at = 0;
  while (heard.size < sources) {
    if (at > 50 * sources) throw new Error('not every viewer of the bench hears of alerts: the run is void');
    for (let source = 0; source < sources; source++) await send(at++);
    await pause(100);
  }

  return async (): Promise<AlertReport> => {
    delays = [];
    const begunMs = performance.now();
    const sent: Promise<void>[] = [];
    for (let n = 0; n < posts; n++) {
      const dueMs = begunMs + (1_000 * n) / perSecond - performance.now();
      if (dueMs > 0) await pause(dueMs);
      sent.push(send(at++));
    }
    await Promise.all(sent);
    for (let looks = 0; delays.length < posts && looks < 100; looks++) await pause(100);
    if (delays.length !== posts) throw new Error(`${posts} transitions were to be told and ${delays.length} were: the run is void`);
    await closeAll(sockets);
    agent.destroy();
    return { delays };
  };
});
