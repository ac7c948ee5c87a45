import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { roles } from '#runtime';
import { ClusterDeployment } from '../cluster-deployment.js';
import { Link } from '../link.js';
import { describeOnServers } from '../servers.js';
import { tryDevice } from './device-trial.js';

describeOnServers('a device on a cluster with two gateways', () => {
  let dir: string;
  let cluster: ClusterDeployment;
  let link: Link;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'headwater-'));
    cluster = await ClusterDeployment.start({ replicas: [...roles, 'gateway'] });
    link = await Link.to(() => Number(new URL(cluster.urls.ingest).port));
  }, 300_000);

  afterAll(async () => {
    link?.close();
    await cluster?.stop();
    await rm(dir, { recursive: true });
  });

  it.each([3, 4])('has every point stored once, in the order of the stamps, although a gateway is killed (seed %i)', async (seed) => {
    let kills = 0;
    const crash = async (): Promise<void> => {
      const gateway = cluster.processes('gateway')[kills++]!;
      await gateway.stop('SIGKILL');
      gateway.start();
    };
    const ground = { link, key: cluster.keys.own, url: () => cluster.urls.api, folder: join(dir, `seed-${seed}`), crash };
    expect(await tryDevice(seed, ground)).toBeGreaterThan(1000);
    expect(kills).toBe(1);
  });
});
