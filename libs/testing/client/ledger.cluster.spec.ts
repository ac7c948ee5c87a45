import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { roles } from '#runtime';
import { run } from '../../../apps/cli/test-run.js';
import { ClusterDeployment } from '../cluster-deployment.js';
import type { Deployment } from '../deployment.js';
import { EmbeddedDeployment } from '../embedded-deployment.js';
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

  it('and a copy brings what a server by itself has to the cluster, and from there to another one', async () => {
    const at = Date.UTC(2026, 0, 31);
    const ends = await Promise.all([EmbeddedDeployment.start(), EmbeddedDeployment.start()]);
    const [first, last] = ends;
    const sourceOf = ({ urls, keys }: Deployment) => new Headwater({ url: urls.api, apiKey: keys.own }).source('moved');
    const bodies = [
      Array.from({ length: 10_000 }, (_, n) => ({
        metric: `m${n % 3}`,
        timestamp: at + (n >> 1),
        value: n / 7,
        tags: { core: `${n % 2}` },
      })),
      Array.from({ length: 2_000 }, (_, n) => ({
        class: 'event',
        metric: 'tick',
        timestamp: at,
        value: { n: n % 700 },
        tags: { by: 'ü' },
      })),
    ];
    const told = new Headwater({ url: first.urls.api, apiKey: first.keys.own });
    for (const points of bodies) await told.ingest({ source_id: 'moved', points });
    await first.settle();
    for (const [from, to] of [
      [first, cluster],
      [cluster, last],
    ] as const) {
      const state = join(dir, 'copy.json');
      const env = { HEADWATER_FROM_API_KEY: from.keys.own, HEADWATER_TO_API_KEY: to.keys.own };
      const ran = await run(['copy', '--from', from.urls.api, '--to', to.urls.api, '--sources', 'moved', '--state', state], { env });
      expect(ran).toMatchObject({ code: 0, stderr: expect.stringContaining('Sent 10,000 points and 2,000 events of 1 source') });
    }
    const window = { start: 0, end: at + 86_400_000 };
    expect(await sourceOf(last).points(window)).toEqual(await sourceOf(first).points(window));
    expect(await sourceOf(last).logs({ ...window, limit: 10_000 })).toEqual(await sourceOf(first).logs({ ...window, limit: 10_000 }));
    await Promise.all(ends.map((end) => end.stop()));
  });
});
