import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { RecordLog } from '#log';
import { onFolder } from '#runtime';
import { eventually } from '../eventually.js';
import { verifySource, verifySources } from '../exactness/verify.js';
import { ApiClient, type EntryJson, type QueryJson } from '../http/client.js';
import { LoadProcess } from '../load/load-process.js';
import { missingPoints } from '../load/missing-points.js';
import type { Load } from '../load/load.js';
import { ToldLedger } from '../load/told-ledger.js';
import { transitionsIn, transitionsInLogs, transitionsOf, watch, watchedLoad } from '../load/watched-load.js';
import { makeKey, makeOrganization } from '../make-keys.js';
import { Random } from '../random.js';
import { ServerProcess } from './server-process.js';

const seed = Number(process.env['CRASH_SEED'] ?? Math.floor(Math.random() * 1e6));
const kills = Number(process.env['CRASH_KILLS'] ?? 6);
const shape: Load = {
  seed,
  prefix: 'device-',
  devices: 50,
  pointsPerBody: 25,
  beginMs: Date.UTC(2026, 0, 1),
  everyMs: 1000,
  rewritten: 0,
};
const watched = watchedLoad(seed + 1, shape.beginMs, 100);

describe(`a server that is killed ${kills} times under load: CRASH_SEED=${seed} CRASH_KILLS=${kills} npm run jest -- crash.spec`, () => {
  let dataDir: string;
  let server: ServerProcess;
  let load: LoadProcess;
  let watchedDevices: LoadProcess;
  let client: ApiClient;
  let told: ToldLedger;
  /** While the server is stopped. */
  const onLog = <T>(work: (log: RecordLog) => Promise<T>): Promise<T> =>
    onFolder(async ({ openStorage }) => {
      const storage = await openStorage(join(dataDir, 'data'));
      try {
        return await work(storage.log);
      } finally {
        await storage.close();
      }
    });

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'headwater-crash-'));
    told = await ToldLedger.open(seed);
    const key = await onLog(async (log) => {
      const orgId = await makeOrganization(log, true);
      await watch(log, orgId, watched);
      await log.append(told.targets(orgId));
      return (await makeKey(log, orgId)).secret;
    });
    server = await ServerProcess.on(join(dataDir, 'data'));
    client = new ApiClient(() => ({ api: server.url, ingest: server.url, app: server.url }), key);
    await server.start();
    load = new LoadProcess(shape, server.url, key, join(dataDir, 'ledger'));
    watchedDevices = new LoadProcess(watched, server.url, key, join(dataDir, 'watched-ledger'));
    await eventually(() => expect(load.acknowledged().length).toBeGreaterThan(0));
  });

  afterAll(async () => {
    load.kill();
    watchedDevices.kill();
    await server.stop();
    await told.close();
    await rm(dataDir, { recursive: true });
  });

  /** The first value of a device is from before its deletion, and the second from after it. */
  const send = (id: string, value: number): Promise<void> => {
    const timestamp = shape.beginMs + value;
    const entry = { class: 'event', metric: 'door', timestamp, value };
    return client.accepted({ source_id: id, points: [{ metric: 'm', timestamp, value }, entry] });
  };
  const valuesOf = async (id: string): Promise<readonly (readonly number[])[]> => {
    const window = `start=${new Date(shape.beginMs).toISOString()}&end=${new Date(shape.beginMs + 1000).toISOString()}`;
    const { series } = await client.json<QueryJson>(`/v1/sources/${id}/metrics/query?interval=raw&${window}`);
    const entries = await client.json<EntryJson[]>(`/v1/sources/${id}/logs?${window}`);
    return [series['m']?.value ?? [], entries.map(({ value }) => Number(value))];
  };

  it('comes up each time with everything that was acknowledged before, and without what was deleted', async () => {
    const random = new Random(seed);
    const startsMs: number[] = [];
    let deleted = 0;
    for (let kill = 0; kill < kills; kill++) {
      const doomed = `doomed-${kill}`;
      await send(doomed, 1);
      await eventually(async () => expect(await valuesOf(doomed)).toEqual([[1], [1]]));
      await sleep(random.whole(50, 800));
      const deletion = client.ask({ method: 'DELETE', path: `/v1/sources/${doomed}` }).then(
        ({ status }) => status === 204,
        () => false,
      );
      await sleep(random.whole(0, 25));
      await server.kill();
      const isDeleted = await deletion;
      deleted += isDeleted ? 1 : 0;
      const newest = load.acknowledged().slice(-5);
      startsMs.push(await server.start());
      for (const body of newest) expect(await missingPoints(client, shape, body)).toEqual([]);
      await send(doomed, 2);
      await eventually(async () => {
        const now = await valuesOf(doomed);
        // Nobody was told of a deletion that was cut off: it is in the log, or it is not.
        for (const values of now) expect(isDeleted ? [[2]] : [[2], [1, 2]]).toContainEqual(values);
      });
    }
    startsMs.sort((a, b) => a - b);
    const seconds = (ms: number | undefined): string => `${((ms ?? 0) / 1000).toFixed(2)} s`;
    process.stderr.write(
      `ready again after kill -9: ${seconds(startsMs[startsMs.length >> 1])} in the median, ${seconds(startsMs.at(-1))} at most\n`,
    );
    process.stderr.write(`${deleted} of ${kills} deletions were answered before the server was killed\n`);
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

  it('in the end 1,000 monitors have told each transition once, and nothing else', async () => {
    await watchedDevices.stop();
    const expected = transitionsOf(watched, watchedDevices.acknowledged());
    expect(expected.length).toBeGreaterThan(watched.devices);
    await eventually(async () => expect(await transitionsInLogs(client, watched)).toEqual(expected));
    // Whoever was in the middle of a delivery makes it again, and what waits is told within seconds.
    const countOfTold = (): number[] => Array.from(told.told().names.values(), ({ length }) => length);
    await eventually(() => expect(countOfTold()).toEqual(countOfTold().map(() => expected.length)), 120_000);
    await server.stop();
    const { lines, again, names } = await onLog((log) => transitionsIn(log, watched));
    expect(lines).toEqual(expected);
    const ledger = told.told();
    for (const [target, its] of ledger.names) expect([target, its]).toEqual([target, names]);
    process.stderr.write(`${ledger.names.size} targets told, ${ledger.again} requests came again with the same webhook-id and body\n`);
    process.stderr.write(`${lines.length} transitions, of which ${again} came again with the same alert_id\n`);
  }, 600_000);
});
