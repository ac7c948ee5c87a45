import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import type { PointBatch } from '#model';
import { openAdapters, readConfig } from '#runtime';
import { apiKeys, events, points, projections } from '#topics';
import { newFolder, type Ran, run } from '../../../apps/cli/test-run.js';
import { ClusterDeployment, twoOfEach } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { EventStream, SocketStream, type StreamClient } from '../http/stream-client.js';
import { LogReader } from '../log-reader.js';
import { people } from '../make-people.js';
import { describeOnServers } from '../servers.js';
import { known } from './stage.js';
import { apiSuite } from './suite.js';

describeOnServers('the roles as processes on Kafka and QuestDB', () => {
  let deployment: ClusterDeployment;
  apiSuite(async () => {
    deployment = await ClusterDeployment.start({ replicas: twoOfEach });
    return { urls: deployment.urls, keys: deployment.keys, people, close: () => deployment.stop() };
  });

  const headwater = (...args: readonly string[]): Promise<Ran> => run(args, { env: deployment.environment });

  it('go by what `headwater org` says of organizations', async () => {
    const created = await headwater('org', 'create', '--name', 'Plant 7', '--payment', 'yes', '--limit', 'sources=2', '--json');
    const { id, api_key: first } = JSON.parse(created.stdout) as { id: string; api_key: string };
    const { stdout: second } = await headwater('keys', 'create', '--org', id);
    const send = async (key: string, source_id: string): Promise<unknown> => {
      const headers = { 'x-api-key': key.trim(), 'content-type': 'application/json' };
      const body = JSON.stringify({ source_id, points: [{ metric: 'm', value: 1 }] });
      const answer = await fetch(`${deployment.urls.ingest}/ingest`, { method: 'POST', headers, body });
      return ((await answer.json()) as { code?: string }).code ?? answer.status;
    };
    for (const key of [first, second]) await eventually(async () => expect(await send(key, 'a')).toBe(200));
    const codes: unknown[] = [];
    for (let at = 0; at < 6; at++) codes.push(await send(first, `s-${at}`));
    // Two processes take points, and each lets two sources in.
    expect(codes.slice(-2)).toEqual(['too_many_series', 'too_many_series']);
    expect(codes).toContain(200);
    // Of each role that answers, both processes: they take turns.
    const paths = ['/v1/sources', '/api/monitors', '/v1/sources/a/logs/stream'].flatMap((path) => [path, path]);
    const statuses = (): Promise<number[]> =>
      Promise.all(
        paths.map(async (path) => {
          const answer = await fetch(deployment.urls.api + path, { headers: { 'x-api-key': second.trim() } });
          await answer.body?.cancel();
          return answer.status;
        }),
      );
    /** Somebody who reads a live stream, and whom the server has said so. */
    const reading = async (how: typeof SocketStream | typeof EventStream): Promise<StreamClient> => {
      const reader = await how.open(deployment.urls.api, '/v1/sources/a/logs/stream?cursor=1', { key: second.trim() });
      await eventually(() => expect(reader.cursor).toBeDefined());
      return reader;
    };
    const withinMs = 10_000;
    for (const [word, status] of [
      ['yes', 200],
      ['no', 402],
      ['yes', 200],
      ['no', 402],
    ] as const) {
      const readers = status === 402 ? await Promise.all([SocketStream, EventStream].map((how) => reading(how))) : [];
      expect((await headwater('org', 'set', id, '--payment', word)).code).toBe(0);
      for (const reader of readers) await eventually(() => expect(reader.closed?.code).toBe(4402), withinMs);
      await eventually(async () => expect(await statuses()).toEqual(paths.map(() => status)), withinMs);
      await eventually(async () => expect(await send(second, 'a')).toBe(status === 200 ? 200 : 'payment_required'), withinMs);
    }
    expect((await headwater('org', 'list')).stdout).toMatch(new RegExp(`^${id} +no .* sources=2 +Plant 7$`, 'm'));
  }, 120_000);

  it('let nobody of an organization in, and remove what it has, once `headwater org delete` has exported it', async () => {
    const created = await headwater('org', 'create', '--name', 'Plant 8', '--payment', 'yes', '--json');
    const { id: orgId, api_key: key } = JSON.parse(created.stdout) as { id: string; api_key: string };
    const statusOf = async (path: string, body?: object): Promise<number> => {
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      const answer = await fetch(deployment.urls.api + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) });
      await answer.body?.cancel();
      return answer.status;
    };
    const at = Date.UTC(2026, 0, 31, 6);
    const ids = ['fan-1', 'press-1'];
    const sent = ids.flatMap((source_id) => [
      {
        source_id,
        points: [
          { metric: 'heat', timestamp: 946_684_799.999, value: -0.1 },
          { metric: 'heat', timestamp: at, value: 1, tags: { core: '0' } },
          { metric: 'heat', timestamp: at, value: 2, tags: { core: '1' } },
          { metric: 'rpm', timestamp: at + 1, value: 3 },
        ],
      },
      {
        source_id,
        points: [
          { class: 'event', metric: 'door', timestamp: 946_684_799.999, value: 'opened', tags: {} },
          { class: 'event', metric: 'door', timestamp: at, value: 'ü "closed"', tags: { by: 'me' } },
          { class: 'event', metric: 'door', timestamp: at, value: 'ü "closed"', tags: { by: 'me' } },
        ],
      },
    ]);
    for (const body of sent) await eventually(async () => expect(await statusOf('/ingest', body)).toBe(200));
    await deployment.settle();

    const adapters = await openAdapters(readConfig(deployment.environment), () => undefined);
    try {
      const { log, views } = adapters.kafka;
      const generations = views.open(projections);
      await generations.ready;
      const stores = adapters.stores.open(generations.get('telemetry')!.live);
      const stored = (): Promise<unknown[]> =>
        Promise.all(ids.map(async (id) => [await stores.series.metricNames(orgId, id), (await stores.events.tail(orgId, id, 9)).length]));
      expect(await stored()).toEqual(ids.map(() => [['heat', 'rpm'], 3]));
      const facts = LogReader.of(log, { topics: [points, events], from: 'end' });
      await facts.following.caughtUp();
      const file = join(newFolder(), 'all.ndjson');
      const connection = ['--url', deployment.urls.api, '--api-key', key];
      const said = `Wrote 14 entries of 2 sources.\nDeleted the organization ${orgId}.\n`;
      const ran = await headwater('org', 'delete', orgId, '--export', file, ...connection, '--yes');
      expect(ran).toEqual({ code: 0, stdout: '', stderr: said });
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
      expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(sent);

      // Of each role that answers, both processes: they take turns.
      for (const [path, body] of [['/v1/sources'], ['/api/monitors'], ['/v1/sources/fan-1/logs/stream'], ['/ingest', sent[0]]] as const)
        await known(async () => expect(await statusOf(path, body)).toBe(401));

      const asked = [points, events].flatMap((topic) => ids.map((sourceId) => [topic.name, sourceId]));
      await eventually(() => {
        const deletions = facts.records.flatMap(({ topic, value }) => {
          const { orgId: whose, sourceId, deleted } = value as PointBatch;
          return whose === orgId && deleted?.metric === null ? [[topic.name, sourceId]] : [];
        });
        expect(deletions).toEqual(expect.arrayContaining(asked));
      });
      await facts.following.stop();
      const keys = views.open(apiKeys);
      await eventually(async () => {
        expect(await stored()).toEqual(ids.map(() => [[], 0]));
        await keys.caughtUp();
        expect(Array.from(keys.scan(''), ([, one]) => one.orgId)).not.toContain(orgId);
      });
    } finally {
      await adapters.close();
    }
  }, 120_000);
});
