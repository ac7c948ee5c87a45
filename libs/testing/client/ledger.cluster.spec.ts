import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { roles } from '#runtime';
import { ClusterDeployment } from '../cluster-deployment.js';
import { clientStory } from '../foreign/client-story.js';
import { packClient } from '../foreign/packed-client.js';
import { clientInProcess, teach } from '../foreign/told-client.js';
import { Link } from '../link.js';
import { describeOnServers } from '../servers.js';
import type { RoleProcess } from '../../../infra/cluster/role-process.js';
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

  it('and readers in a process of its own have everything once, although a gateway is killed', async () => {
    const { folder } = await packClient(dir);
    await teach(folder);
    const client = clientInProcess([process.execPath], folder, process.env);
    const [gateway] = cluster.processes('gateway') as [RoleProcess];
    let kills = 0;
    const crash = async (): Promise<void> => {
      kills++;
      await gateway.stop('SIGKILL');
      gateway.start();
      await gateway.ready();
    };
    try {
      await clientStory('told', client, { link, key: cluster.keys.own, crash, settle: () => cluster.settle() });
      await client.end();
    } finally {
      await client.kill();
    }
    expect(kills).toBe(1);
  });
});
