import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Keys } from '../deployment.js';
import { makeKeys } from '../embedded-deployment.js';
import { eventually } from '../eventually.js';
import { verifySource, verifySources } from '../exactness/verify.js';
import { ApiClient } from '../http/client.js';
import { LoadProcess } from '../load/load-process.js';
import { missingPoints } from '../load/missing-points.js';
import type { Load } from '../load/load.js';
import { Random } from '../random.js';
import { ServerProcess } from './server-process.js';

const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 1e6));
const kills = Number(process.env['CRASH_KILLS'] ?? 30);
const shape: Load = {
  seed,
  prefix: 'device-',
  devices: 50,
  pointsPerBody: 25,
  beginMs: Date.UTC(2026, 0, 1),
  everyMs: 1000,
  rewritten: 0,
};

describe(`a server that is killed ${kills} times under load: CRASH_SEED=${seed} CRASH_KILLS=${kills} npm run jest -- crash.spec`, () => {
  let dataDir: string;
  let keys: Keys;
  let server: ServerProcess;
  let load: LoadProcess;
  let client: ApiClient;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'headwater-crash-'));
    keys = await makeKeys(join(dataDir, 'data'));
    server = await ServerProcess.on(join(dataDir, 'data'));
    client = new ApiClient(() => ({ api: server.url, ingest: server.url, app: server.url }), keys.own);
    await server.start();
    load = new LoadProcess(shape, server.url, keys.own, join(dataDir, 'ledger'));
    await eventually(() => expect(load.acknowledged().length).toBeGreaterThan(0));
  });

  afterAll(async () => {
    load.kill();
    await server.stop();
    await rm(dataDir, { recursive: true });
  });

  it('comes up each time with everything that was acknowledged before', async () => {
    const random = new Random(seed);
    const startsMs: number[] = [];
    for (let kill = 0; kill < kills; kill++) {
      await sleep(random.whole(50, 800));
      await server.kill();
      const newest = load.acknowledged().slice(-5);
      startsMs.push(await server.start());
      for (const body of newest) expect(await missingPoints(client, shape, body)).toEqual([]);
    }
    startsMs.sort((a, b) => a - b);
    const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1000).toFixed(2)} s`;
    process.stderr.write(
      `ready again after kill -9: ${seconds(startsMs[startsMs.length >> 1])} in the median, ${seconds(startsMs.at(-1))} at most\n`,
    );
    expect(startsMs).toHaveLength(kills);
  }, 600_000);

  it('in the end it has what was acknowledged, once, and nothing else, in every answer', async () => {
    await load.stop();
    const acknowledged = load.acknowledged();
    expect(acknowledged.length).toBeGreaterThan(shape.devices);
    const world = load.world();
    const random = new Random(seed);
    // What was acknowledged last is read within seconds.
    for (const [id, source] of world.sources) await eventually(() => verifySource(client, id, source, random));
    await eventually(() => verifySources(client, 'device-', world));
    const points = acknowledged.length * shape.pointsPerBody;
    process.stderr.write(`${points} points and events of ${world.sources.size} devices, each there once\n`);
  }, 600_000);
});
