import { setTimeout as sleep } from 'node:timers/promises';
import { ApiClient } from '../http/client.js';
import { Ledger } from './ledger.js';
import { devices, isSentTwice, loadBody } from './load.js';

// A process of its own: `load-client.js URL KEY LEDGER SEED`. It sends until SIGTERM; then every body that was begun is still sent until
// it is acknowledged, so that at its end the ledger names exactly what the service has.
const [url = '', key = '', ledgerPath = '', seed = '0'] = process.argv.slice(2);
const client = new ApiClient(() => ({ api: url, ingest: url, app: url }), key);
const ledger = new Ledger(ledgerPath);
const stopping = new AbortController();
process.once('SIGTERM', () => stopping.abort());

async function untilAcknowledged(device: number, at: number): Promise<void> {
  const body = JSON.stringify(loadBody(Number(seed), device, at));
  for (;;) {
    const status = await client.ingest(body).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 200) return;
    if (status !== undefined && status < 500 && status !== 429) throw new Error(`a good body was answered ${status}`);
    await sleep(100 + Math.random() * 400);
  }
}

async function run(device: number): Promise<void> {
  await sleep((device * 1000) / devices);
  for (let at = 0; !stopping.signal.aborted; at++) {
    const beganMs = performance.now();
    await untilAcknowledged(device, at);
    await ledger.add({ device, at });
    if (isSentTwice(Number(seed), device, at)) await untilAcknowledged(device, at);
    await sleep(Math.max(0, 1000 - (performance.now() - beganMs)));
  }
}

await Promise.all(Array.from({ length: devices }, (_, device) => run(device)));
ledger.close();
