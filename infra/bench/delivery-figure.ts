import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { print, spread, type Asked, type Figure } from './report.js';
import { ingest, ServerProcess, until, type Target } from './server-process.js';

/** Devices with one open alert each, all at once. */
const devices = 10_000;
const metric = 'bench.heat';

interface Told {
  readonly server: Server;
  readonly url: string;
  /** How many transitions have come, and in how many requests. */
  transitions: number;
  requests: number;
}

/** A receiver on this machine that counts what it is told. */
async function receiver(): Promise<Told> {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const told: Told = { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, transitions: 0, requests: 0 };
  server.on('request', (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { triggered_ids: many } = JSON.parse(Buffer.concat(chunks).toString()) as { triggered_ids?: readonly string[] };
      told.transitions += many?.length ?? 1;
      told.requests++;
      response.end();
    });
  });
  return told;
}

async function post({ url, key }: Target, path: string, body: object): Promise<void> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`POST ${path} answered ${answer.status}: ${await answer.text()}`);
}

const all = (value: number): object[] =>
  Array.from({ length: devices }, (_, at) => ({ source_id: `bench-${at}`, metric, value, timestamp: Date.now() }));

async function deliver(): Promise<{
  readonly seconds: number;
  readonly memoryMb: number;
  readonly cpuS: number;
  readonly requests: number;
}> {
  const server = await ServerProcess.embedded();
  const told = await receiver();
  try {
    // The key is shown before it is made.
    await ingest(server, 'bench-0', all(1));
    await post(server, '/api/monitors', { source_id: '*', metric, threshold: { max: 80 } });
    await post(server, '/api/alert-targets', { kind: 'webhook', url: told.url });
    const [cpuS, memoryMb] = [server.cpuS(), server.memoryMb()];
    const beganMs = performance.now();
    await ingest(server, 'bench-0', all(99));
    await until(() => Promise.resolve(told.transitions === devices), 120_000);
    const seconds = (performance.now() - beganMs) / 1_000;
    return { seconds, memoryMb: server.peakMemoryMb() - memoryMb, cpuS: server.cpuS() - cpuS, requests: told.requests };
  } finally {
    told.server.closeAllConnections();
    told.server.close();
    await server.remove();
  }
}

async function run({ pairs }: Asked): Promise<void> {
  const each = [];
  for (let round = 0; round < pairs; round++) each.push(await deliver());
  print(`alerts: ${devices} that fire at once are told to one webhook on this machine, ${pairs} times`, {
    'from posting the points to the last of them told, s': spread(
      each.map(({ seconds }) => seconds),
      2,
    ),
    requests: spread(
      each.map(({ requests }) => requests),
      0,
    ),
    'cpu, s': spread(
      each.map((one) => one.cpuS),
      2,
    ),
    'peak memory over what it was before, MB': spread(
      each.map((one) => one.memoryMb),
      0,
    ),
  });
}

export const deliveryFigure: Figure = { names: { alerts: '10,000 alerts at once, told to a webhook' }, shape: 'embedded', run };
