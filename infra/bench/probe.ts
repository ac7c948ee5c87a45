import { Agent, request } from 'node:http';
import { percentiles, type Percentiles } from './percentiles.js';
import { work } from './processes.js';

export interface ProbeOrder {
  readonly url: string;
  readonly key: string;
  readonly perSecond: number;
  readonly requests: number;
  /** Asked but not counted, first. */
  readonly warmUp: number;
}

/** Milliseconds from the intended time of sending to the last byte of the answer. */
export interface ProbeReport extends Percentiles {
  readonly bytes: number;
}

const agent = new Agent({ keepAlive: true });

function ask(order: ProbeOrder): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(order.url, { agent, headers: { 'x-api-key': order.key } }, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => (bytes += chunk.length));
      answer.on('end', () => (answer.statusCode === 200 ? resolve(bytes) : reject(new Error(`${order.url}: ${answer.statusCode}`))));
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function run(order: ProbeOrder): Promise<ProbeReport> {
  let bytes = 0;
  for (let at = 0; at < order.warmUp; at++) bytes = await ask(order);
  const gapMs = 1_000 / order.perSecond;
  const begun = performance.now();
  const latencies = await Promise.all(
    Array.from({ length: order.requests }, async (_, at) => {
      const intended = begun + at * gapMs;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, intended - performance.now())));
      await ask(order);
      return performance.now() - intended;
    }),
  );
  return { ...percentiles(latencies), bytes };
}

await work((order: ProbeOrder) => Promise.resolve(() => run(order)));
