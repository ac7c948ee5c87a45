import { setImmediate, setTimeout as pause } from 'node:timers/promises';
import { GCProfiler, getHeapStatistics } from 'node:v8';
import { Device } from '#client';
import { work } from './processes.js';
import type { Target } from './server-process.js';
import { bodyOf, pointsOf, sourceName, type Shape } from './shapes.js';

/** What a process of the figure is told. */
export interface ClientOrder extends Target {
  /** The points of one source: the library is handed them one by one, and `fetch` sends them as bodies that were made before. */
  readonly shape: Shape;
  /** The first so many of the bodies are not measured. */
  readonly warmBodies: number;
  readonly startMs: number;
  /** What sends: the library, or `fetch` of bodies that were made before. */
  readonly sender: 'library' | 'fetch';
  /** Whether it is the library over the channel. */
  readonly connects?: boolean;
  /** Where points wait; memory when left out. */
  readonly folder?: string;
}

export interface ClientReport {
  readonly wallS: number;
  readonly cpuS: number;
  /** On the heap of V8: what was allocated between collections. Buffers are beside it. */
  readonly heapBytes: number;
}

/** Points that may wait before no more are handed over. */
const maxWaiting = 50_000;
/** So often it is looked whether they do. */
const stride = 1_000;

async function measured(task: () => Promise<void>): Promise<ClientReport> {
  const profiler = new GCProfiler();
  profiler.start();
  let heapBytes = -getHeapStatistics().used_heap_size;
  const begun = performance.now();
  const cpu = process.cpuUsage();
  await task();
  const { user, system } = process.cpuUsage(cpu);
  const wallS = (performance.now() - begun) / 1e3;
  heapBytes += getHeapStatistics().used_heap_size;
  for (const { beforeGC, afterGC } of profiler.stop().statistics)
    heapBytes += beforeGC.heapStatistics.usedHeapSize - afterGC.heapStatistics.usedHeapSize;
  return { wallS, cpuS: (user + system) / 1e6, heapBytes };
}

/** Sends the bodies from one place to another, or the points in them. Resolves when they are stored. */
type Send = (from: number, to: number) => Promise<void>;

interface Sender {
  readonly send: Send;
  readonly close: () => Promise<void>;
}

const bodiesOf = ({ shape, startMs }: ClientOrder): string[] =>
  Array.from({ length: shape.bodies }, (_, body) => bodyOf(shape, body, startMs));

/** Sends one body after the other. */
function byFetch(order: ClientOrder): Sender {
  const bodies = bodiesOf(order);
  const headers = { 'x-api-key': order.key, 'content-type': 'application/json', ...(order.shape.gzip && { 'content-encoding': 'gzip' }) };
  const zipped = (body: string): Promise<ArrayBuffer> =>
    new Response(new Blob([body]).stream().pipeThrough(new CompressionStream('gzip'))).arrayBuffer();
  const send: Send = async (from, to) => {
    for (const text of bodies.slice(from, to)) {
      const body = order.shape.gzip ? await zipped(text) : text;
      const answer = await fetch(`${order.url}/ingest`, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(`a body of the bench was refused: ${await answer.text()}`);
      await answer.arrayBuffer();
    }
  };
  return { send, close: () => Promise.resolve() };
}

/** Hands the points over one by one, as fast as the library sends them. */
async function byLibrary(order: ClientOrder): Promise<Sender> {
  const { url, key, shape, folder, connects } = order;
  const [stamps, values] = [new Float64Array(pointsOf(shape)), new Float64Array(pointsOf(shape))];
  const names: string[] = [];
  for (const [body, text] of bodiesOf(order).entries()) {
    const { points } = JSON.parse(text) as { points: { metric: string; value: number; timestamp: number }[] };
    for (const [at, { metric, value, timestamp }] of points.entries()) {
      names[at % shape.metrics] = metric;
      values[body * shape.pointsPerBody + at] = value;
      stamps[body * shape.pointsPerBody + at] = timestamp;
    }
  }
  let next = 0;
  const clock = (): number => stamps[Math.min(next, stamps.length - 1)]!;
  const buffer = { full: 'reject', ...(folder !== undefined && { folder }) } as const;
  const device = new Device({ url, apiKey: key, sourceId: sourceName(shape.firstSource!), buffer, clock });
  if (connects) await device.connect();
  const send: Send = async (from, to) => {
    for (next = from * shape.pointsPerBody; next < to * shape.pointsPerBody; next++) {
      if (next % stride === 0) {
        await setImmediate();
        while (device.stats.buffered.points > maxWaiting) await pause(1);
      }
      device.metric(names[next % shape.metrics]!, values[next]!);
    }
    await device.flush();
  };
  return { send, close: () => device.close() };
}

await work(async (order: ClientOrder) => {
  const { sender, warmBodies, shape } = order;
  const { send, close } = await (sender === 'library' ? byLibrary(order) : byFetch(order));
  await send(0, warmBodies);
  return async () => {
    const report = await measured(() => send(warmBodies, shape.bodies));
    await close();
    return report;
  };
});
