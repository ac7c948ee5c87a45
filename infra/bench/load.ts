import { Agent, request } from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { work } from './processes.js';
import { bodyOf, type Shape } from './shapes.js';

/** What the load process is told; it makes all bodies first, and sends them at `go`. */
export interface LoadOrder {
  readonly url: string;
  readonly key: string;
  readonly shape: Shape;
  readonly startMs: number;
  /** Bodies; as fast as they are answered when left out. */
  readonly perSecond?: number;
}

export interface LoadReport {
  readonly wallS: number;
  readonly cpuS: number;
  readonly sentBytes: number;
  /** Answers other than 2xx, which void the run. */
  readonly refused: number;
}

function post(order: LoadOrder, agent: Agent, body: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const headers = {
      'x-api-key': order.key,
      'content-type': 'application/json',
      'content-length': body.length,
      ...(order.shape.gzip && { 'content-encoding': 'gzip' }),
    };
    const sent = request(`${order.url}/ingest`, { agent, method: 'POST', headers }, (answer) => {
      answer.resume();
      answer.on('end', () => resolve(answer.statusCode! < 300));
      answer.on('error', reject);
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

async function sendAll(order: LoadOrder, bodies: readonly Buffer[]): Promise<LoadReport> {
  const { connections } = order.shape;
  const agent = new Agent({ keepAlive: true, maxSockets: connections });
  const begun = performance.now();
  const cpu = process.cpuUsage();
  let next = 0;
  let refused = 0;
  const connection = async (): Promise<void> => {
    while (next < bodies.length) {
      const at = next++;
      const dueMs = order.perSecond === undefined ? 0 : begun + (1_000 * at) / order.perSecond - performance.now();
      if (dueMs > 0) await pause(dueMs);
      if (!(await post(order, agent, bodies[at]!))) refused++;
    }
  };
  await Promise.all(Array.from({ length: connections }, connection));
  const { user, system } = process.cpuUsage(cpu);
  agent.destroy();
  const sentBytes = bodies.reduce((sum, body) => sum + body.length, 0);
  return { wallS: (performance.now() - begun) / 1e3, cpuS: (user + system) / 1e6, sentBytes, refused };
}

await work(async (order: LoadOrder) => {
  const bodies = Array.from({ length: order.shape.bodies }, (_, body) => {
    const text = Buffer.from(bodyOf(order.shape, body, order.startMs));
    return order.shape.gzip ? gzipSync(text) : text;
  });
  return () => sendAll(order, bodies);
});
