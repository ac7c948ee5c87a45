import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { readConfig, withLog } from '#runtime';
import { projections } from '#topics';
import { run } from '../../../apps/cli/test-run.js';
import { ClusterDeployment } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { history } from '../exactness/history.js';
import { verifySource } from '../exactness/verify.js';
import { World, type SentBody } from '../exactness/world.js';
import { ApiClient, query, type QueryJson } from '../http/client.js';
import { Random } from '../random.js';
import { describeOnOwnServers } from '../servers.js';
import { rowMs } from './durations.js';
import { startOwnServers } from './own-servers.js';

const seed = Number(process.env['FAULTS_SEED'] ?? Math.floor(Math.random() * 1e6));
const quietMs = Date.UTC(2001, 0, 3, 4, 5);
/** What comes before the backup, while it is made, and after it, with another value of the same time. */
const [before, meanwhile, after] = [1, 2, 3];

/** What infra/decisions/cluster-backup.md tells the operator to do. */
describeOnOwnServers(`A QuestDB that is lost and restored from a checkpoint: FAULTS=short FAULTS_SEED=${seed}`, () => {
  it(
    'answers everything again, once its groups have begun again from before the checkpoint',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'headwater-backup-'));
      const [questDbFolder, copy] = [join(folder, 'questdb'), join(folder, 'copy')];
      const servers = await startOwnServers(folder, 1);
      const cluster = await ClusterDeployment.start({ servers: servers.environment, settings: { HEADWATER_QUESTDB_PARTITION: 'MONTH' } });
      const [random, beganMs] = [new Random(seed), Date.now()];
      const world = new World();
      const client = new ApiClient(() => cluster.urls, cluster.keys.own);
      const send = async (body: SentBody): Promise<void> => {
        await eventually(() => client.accepted(body));
        world.accept(body);
      };
      const sendSome = async (time: number): Promise<void> => {
        const points = [0, 60, 4000].map((later) => ({ metric: 'temp', value: time, timestamp: quietMs / 1000 + later }));
        await send({ source_id: 'press', points });
        for (const { body } of history(seed + time, 'x', beganMs).bodies) await send(body);
      };
      const sql = async (text: string): Promise<void> => {
        const answer = await fetch(`${servers.questDb.httpUrl}/exec?query=${encodeURIComponent(text)}`);
        if (!answer.ok) throw new Error(`${text}: ${await answer.text()}`);
      };
      const values = async (): Promise<readonly number[]> => {
        const window = { start: new Date(quietMs).toISOString(), end: new Date(quietMs + 1).toISOString(), interval: 'raw' };
        const { series } = await client.json<QueryJson>(`/v1/sources/press/metrics/query${query(window)}`);
        return series['temp']!.value!;
      };
      try {
        await sendSome(before);
        await cluster.settle();
        const fromMs = Date.now();
        await sql('CHECKPOINT CREATE');
        await Promise.all([cp(questDbFolder, copy, { recursive: true }), sendSome(meanwhile)]);
        await sql('CHECKPOINT RELEASE');
        await sendSome(after);
        await cluster.settle();
        await expect(values()).resolves.toEqual([after]);

        for (const processor of cluster.processes('processors')) await processor.stop('SIGTERM');
        await servers.questDb.server.kill('SIGKILL');
        await rm(questDbFolder, { recursive: true });
        await cp(copy, questDbFolder, { recursive: true });
        await writeFile(join(questDbFolder, '_restore'), '');
        await servers.questDb.server.start();
        await eventually(async () => expect(await values()).toEqual([before]));

        const { live } = await withLog(readConfig(cluster.environment), async ({ views }) => {
          const view = views.open(projections);
          await view.ready;
          return view.get('telemetry')!;
        });
        for (const group of ['series', 'events']) {
          const replay = ['replay', '--group', `${group}.g${live}`, '--from', new Date(fromMs).toISOString()];
          expect(await run(replay, { env: cluster.environment })).toMatchObject({ code: 0 });
        }
        for (const processor of cluster.processes('processors')) {
          processor.start();
          await processor.ready();
        }
        await cluster.settle();
        for (const [id, source] of world.sources) await verifySource(client, id, source, random);
        await expect(values()).resolves.toEqual([after]);
      } finally {
        await cluster.stop();
        await servers.stop();
        await rm(folder, { recursive: true });
      }
    },
    rowMs,
  );
});
