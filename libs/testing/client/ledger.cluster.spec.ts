import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Headwater } from '#client';
import { roles } from '#runtime';
import { type Ran, run } from '../../../apps/cli/test-run.js';
import { handOn, TestServer } from '../../../apps/cli/test-server.js';
import { ClusterDeployment } from '../cluster-deployment.js';
import type { Deployment } from '../deployment.js';
import { EmbeddedDeployment } from '../embedded-deployment.js';
import { eventually } from '../eventually.js';
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

  it('and a copy brings what a server by itself has to the cluster, also where it is killed, and from there to another one', async () => {
    const at = Date.UTC(2026, 0, 31);
    const until = '9999-12-31T23:59:59.999Z';
    const bodies = {
      'moved-1': [
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
      ],
      // Times before 2001 are sent in seconds, and those after 5138 in nanoseconds.
      'moved-2': [
        [
          { metric: 'rpm', timestamp: 0.001, value: -0.1 },
          { metric: 'rpm', timestamp: 946_684_799.999, value: 1e-300 },
          { metric: 'rpm', timestamp: Date.UTC(5200, 0, 3) * 1e6, value: 7 },
          { class: 'event', metric: 'door', timestamp: 946_684_799.999, value: 'opened' },
          { class: 'event', metric: 'door', timestamp: Date.UTC(5200, 0, 3) * 1e6, value: null },
        ],
      ],
    };
    const reader = ({ urls, keys }: Deployment) => new Headwater({ url: urls.api, apiKey: keys.own });
    const answers = async (of: Deployment): Promise<readonly object[]> => {
      const sources = (await reader(of).sources()).filter(({ source_id: id }) => id in bodies);
      return Promise.all(
        sources.map(async ({ source_id: id }) => {
          const source = reader(of).source(id);
          const window = { start: 0, end: until };
          const hours: object[] = [];
          for await (const some of source.query({ ...window, interval: '1h' })) hours.push(some);
          const events = await source.logs({ ...window, limit: 10_000 });
          return { id, names: await source.metrics(), ...(await source.points(window)), hours, events };
        }),
      );
    };
    const copy = (from: Deployment, to: Deployment, url: string, during?: (child: ChildProcess) => void): Promise<Ran> =>
      run(['copy', '--from', from.urls.api, '--to', url, '--sources', 'moved-*', '--until', until, '--state', join(dir, 'copy.json')], {
        env: { HEADWATER_FROM_API_KEY: from.keys.own, HEADWATER_TO_API_KEY: to.keys.own },
        ...(during && { during }),
      });
    const isDone = { code: 0, stderr: expect.stringContaining('Sent 10,003 points and 2,002 events of 2 sources') };

    const ends = await Promise.all([EmbeddedDeployment.start(), EmbeddedDeployment.start()]);
    const [first, last] = ends;
    for (const [source_id, its] of Object.entries(bodies)) for (const points of its) await reader(first).ingest({ source_id, points });
    await first.settle();
    const there = await answers(first);

    let child: ChildProcess;
    const killedAt: string[] = [];
    // The cluster has the first body of points, and then of events, before the command knows that: it sends them again.
    await using front = await TestServer.start(async (seen) => {
      const answer = await handOn(cluster.urls.api, seen);
      const { source_id: id, points = [] } = (seen.body ?? {}) as { source_id?: string; points?: readonly { class?: string }[] };
      const kind = points[0]?.class ?? 'point';
      if (id === 'moved-1' && !killedAt.includes(kind)) {
        killedAt.push(kind);
        child.kill('SIGKILL');
      }
      return answer;
    });
    let ran: Ran;
    do ran = await copy(first, cluster, front.url, (started) => (child = started));
    while (ran.code === 'SIGKILL');
    expect(ran).toMatchObject(isDone);
    expect(killedAt).toEqual(['point', 'event']);
    await eventually(async () => expect(await answers(cluster)).toEqual(there));

    expect(await copy(cluster, last, last.urls.api)).toMatchObject(isDone);
    await eventually(async () => expect(await answers(last)).toEqual(there));
    await Promise.all(ends.map((end) => end.stop()));
  });
});
