import { beforeAll, afterAll, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeOnServers, eventually, serverEnvironment } from '#testing';
import { IngressModule } from '../../apps/ingress/ingress.module.js';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { replayGroup, reportTopics } from './data-plane-groups.js';
import { initDataPlane, rebuildDataPlane } from './data-plane.js';
import { createLogger } from './logger.js';
import type { Role } from './roles.js';
import { start, type Running } from './start.js';
import type { Config } from './settings.js';

const number = randomInt(1, 1_000_000);
const silent = (): void => undefined;

describeOnServers('the data plane', () => {
  let config: Config;
  let key: string;
  const running: Running[] = [];
  beforeAll(() => {
    config = readConfig({
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `plane${number}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_CHECKPOINT_SECONDS: '1',
    });
  });
  afterAll(() => stop());

  async function stop(): Promise<void> {
    for (const one of running.splice(0)) await one.stop();
  }
  async function run(role: Role, module: typeof IngressModule | typeof ProcessorsModule): Promise<Running> {
    const one = await start(module, cluster(role), config, await createLogger('silent'));
    running.push(one);
    await one.opened;
    return one;
  }
  const lags = async (): Promise<Record<string, number>> => {
    const { groups } = await reportTopics(config);
    const byGroup = Object.entries(Object.groupBy(groups, ({ group }) => group));
    return Object.fromEntries(byGroup.map(([group, its]) => [group, its!.reduce((sum, { lag }) => sum + lag, 0)]));
  };

  it('has nothing to rebuild before it is made', async () => {
    await expect(rebuildDataPlane(config, { told: silent, lags: silent })).rejects.toThrow('run `headwater init --data-plane` first');
  });

  it('is made once, with one key, though two make it at the same time', async () => {
    const secrets = await Promise.all([1, 2].map(() => initDataPlane(config, silent, 1000 * number)));
    const made = secrets.filter((secret) => secret !== undefined);
    expect(made).toEqual([expect.stringMatching(/^hw_/)]);
    key = made[0]!;
    expect(await initDataPlane(config, silent)).toBeUndefined();
    const { topics } = await reportTopics(config);
    const records = Object.fromEntries(topics.map(({ topic, records: count }) => [topic, count]));
    expect(records).toMatchObject({ 'telemetry.points.v1': 0 });
    for (const topic of ['organizations.v1', 'api-keys.v1', 'projections.v1']) expect(records[topic]).toBeGreaterThanOrEqual(1);
  });

  it('shows how far each group is', async () => {
    const { url } = await run('ingress', IngressModule);
    await run('processors', ProcessorsModule);
    const body = '{"source_id":"a","points":[{"metric":"m","value":1},{"metric":"e","class":"event","value":"x"}]}';
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    expect((await fetch(`${url}/ingest`, { method: 'POST', headers, body })).status).toBe(200);
    const generation = `g${1000 * number}`;
    await eventually(async () => expect(await lags()).toEqual({ [`series.${generation}`]: 0, [`events.${generation}`]: 0, sources: 0 }));
  });

  it('moves no group that runs, and one that does not back to where it is told', async () => {
    await expect(replayGroup(config, 'nobody', 'beginning')).rejects.toThrow('There is no group nobody');
    await expect(replayGroup(config, 'sources', 'beginning')).rejects.toThrow('stop all processors first');
    await stop();
    for (const [from, left] of [
      [{ offset: 1_000_000 }, 0],
      [{ timestampMs: 1 }, 2],
      [{ offset: 1_000_000 }, 2],
      ['beginning', 2],
    ] as const) {
      expect(await replayGroup(config, 'sources', from)).toEqual(['telemetry.events.v1', 'telemetry.points.v1']);
      expect(await lags()).toMatchObject({ sources: left });
    }
    await run('processors', ProcessorsModule);
    await eventually(async () => expect(await lags()).toMatchObject({ sources: 0 }));
  });

  it('is made again beside the live one, as often as it is told', async () => {
    const next = 1000 * number + 1;
    expect(await rebuildDataPlane(config, { told: silent, lags: silent, leaveMs: 10 })).toBe(next);
    expect(await rebuildDataPlane(config, { told: silent, lags: silent, leaveMs: 10 })).toBe(next + 1);
    await eventually(async () => expect(await lags()).toMatchObject({ [`series.g${next + 1}`]: 0 }));
  });
});
