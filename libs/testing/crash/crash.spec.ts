import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Keys } from '../deployment.js';
import { makeKeys } from '../embedded-deployment.js';
import { verifySource, verifySources } from '../exactness/verify.js';
import { World } from '../exactness/world.js';
import { ApiClient, type EntryJson, type QueryJson } from '../http/client.js';
import { Random } from '../random.js';
import { readLedger, type Acknowledged } from './ledger.js';
import { deviceId, devices, loadBody } from './load.js';
import { ServerProcess } from './server-process.js';

const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 1e6));
const kills = Number(process.env['CRASH_KILLS'] ?? 30);

describe(`a server that is killed ${kills} times under load: CRASH_SEED=${seed} CRASH_KILLS=${kills} npm run jest -- crash.spec`, () => {
  let dataDir: string;
  let ledgerPath: string;
  let keys: Keys;
  let server: ServerProcess;
  let load: ChildProcess;
  let client: ApiClient;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'headwater-crash-'));
    ledgerPath = join(dataDir, 'ledger');
    keys = await makeKeys(join(dataDir, 'data'));
    server = await ServerProcess.on(join(dataDir, 'data'));
    client = new ApiClient(() => ({ api: server.url, ingest: server.url, app: server.url }), keys.own);
    await server.start();
    const main = fileURLToPath(new URL('load-client.js', import.meta.url));
    load = spawn(process.execPath, [main, server.url, keys.own, ledgerPath, `${seed}`], { stdio: ['ignore', 'inherit', 'inherit'] });
  });

  afterAll(async () => {
    load.kill('SIGKILL');
    await server.stop();
    await rm(dataDir, { recursive: true });
  });

  it('comes up each time with everything that was acknowledged before', async () => {
    const random = new Random(seed);
    const startsMs: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await sleep(random.whole(50, 800));
      await server.kill();
      const newest = readLedger(ledgerPath).slice(-5);
      startsMs.push(await server.start());
      for (const body of newest) await holds(body);
    }
    startsMs.sort((a, b) => a - b);
    const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1000).toFixed(2)} s`;
    process.stderr.write(
      `ready again after kill -9: ${seconds(startsMs[startsMs.length >> 1])} in the median, ${seconds(startsMs.at(-1))} at most\n`,
    );
    expect(startsMs).toHaveLength(kills);
  }, 600_000);

  it('in the end it has what was acknowledged, once, and nothing else, in every answer', async () => {
    load.kill('SIGTERM');
    const [code] = (await once(load, 'exit')) as [number | null];
    expect(code).toBe(0);
    const acknowledged = readLedger(ledgerPath);
    expect(acknowledged.length).toBeGreaterThan(devices);
    const world = new World();
    for (const { device, at } of acknowledged) world.accept(loadBody(seed, device, at));
    const random = new Random(seed);
    for (const [id, source] of world.sources) await verifySource(client, id, source, random);
    await verifySources(client, 'device-', world);
    const points = acknowledged.length * 100;
    process.stderr.write(`${points} points and events of ${world.sources.size} devices, each there once\n`);
  }, 600_000);

  /** The points and events of a body are all there. */
  async function holds({ device, at }: Acknowledged): Promise<void> {
    const { points } = loadBody(seed, device, at);
    const times = points.map(({ timestamp }) => timestamp);
    const window = `start=${new Date(Math.min(...times)).toISOString()}&end=${new Date(Math.max(...times) + 1).toISOString()}`;
    const path = `/v1/sources/${deviceId(device)}`;
    const { series } = await client.json<QueryJson>(`${path}/metrics/query?interval=raw&${window}`);
    const entries = await client.json<EntryJson[]>(`${path}/logs?limit=10000&${window}`);
    const missing = points.filter(({ class: kind, metric, timestamp, value }) =>
      kind === 'event'
        ? !entries.some((entry) => entry.timestamp_ms === timestamp && entry.value === JSON.stringify(value))
        : series[metric]?.value?.[series[metric].timestamp_ms.indexOf(timestamp)] !== value,
    );
    expect(missing).toEqual([]);
  }
});
