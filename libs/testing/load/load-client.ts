import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../http/client.js';
import type { Answer } from '../http/send.js';
import { Ledger } from './ledger.js';
import type { LoadReport } from './load-process.js';
import { isSentTwice, loadBody, type Load } from './load.js';

// A process of its own: `load-client.js URL KEY LEDGER LOAD`. It sends until SIGTERM; then every body that was begun is still sent until
// it is acknowledged, so that at its end the ledger names exactly what the service has. The last thing it prints is its report, as JSON.
const [url = '', key = '', ledgerPath = '', json = ''] = process.argv.slice(2);
const load = JSON.parse(json) as Load;
const client = new ApiClient(() => ({ api: url, ingest: url, app: url }), key);
const ledger = new Ledger(ledgerPath);
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

const answers: Record<string, number> = {};
let longestMs = 0;

async function untilAcknowledged(device: number, at: number): Promise<void> {
  const body = JSON.stringify(loadBody(load, device, at));
  for (;;) {
    const beganMs = performance.now();
    const answer = await client.ingest(body).catch((error: NodeJS.ErrnoException) => error);
    longestMs = Math.max(longestMs, performance.now() - beganMs);
    const how = answer instanceof Error ? (answer.code ?? answer.message) : answer.status;
    answers[how] = (answers[how] ?? 0) + 1;
    if (how === 200) return;
    if (!(answer instanceof Error)) check(answer);
    await sleep(100 + Math.random() * 400);
  }
}

/** The only answers but 200 that a good body may get. */
function check({ status, headers, text }: Answer): void {
  if (status !== 503 && status !== 429) throw new Error(`a good body was answered ${status}: ${text}`);
  if (!headers['retry-after']) throw new Error(`${status} came without Retry-After: ${text}`);
}

async function run(device: number): Promise<void> {
  await sleep((device * load.everyMs) / load.devices);
  for (let at = 0; !stopping.signal.aborted; at++) {
    const beganMs = performance.now();
    await untilAcknowledged(device, at);
    await ledger.add({ device, at });
    if (isSentTwice(load, device, at)) await untilAcknowledged(device, at);
    await sleep(Math.max(0, load.everyMs - (performance.now() - beganMs)));
  }
}

await Promise.all(Array.from({ length: load.devices }, (_, device) => run(device)));
ledger.close();
const report: LoadReport = { answers, longestMs };
process.stdout.write(`${JSON.stringify(report)}\n`);
