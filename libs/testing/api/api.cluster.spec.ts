import { expect, it } from '@jest/globals';
import { run } from '../../../apps/cli/test-run.js';
import { ClusterDeployment, twoOfEach } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { EventStream, SocketStream, type StreamClient } from '../http/stream-client.js';
import { people } from '../make-people.js';
import { describeOnServers } from '../servers.js';
import { apiSuite } from './suite.js';

describeOnServers('the roles as processes on Kafka and QuestDB', () => {
  let deployment: ClusterDeployment;
  apiSuite(async () => {
    deployment = await ClusterDeployment.start({ replicas: twoOfEach });
    return { urls: deployment.urls, keys: deployment.keys, people, close: () => deployment.stop() };
  });

  it('go by what `headwater org` says of organizations', async () => {
    const headwater = (...args: readonly string[]): ReturnType<typeof run> => run(args, { env: deployment.environment });
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
});
