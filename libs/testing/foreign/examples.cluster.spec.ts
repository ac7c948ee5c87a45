import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ClusterDeployment } from '../cluster-deployment.js';
import { send } from '../http/send.js';
import { describeOnServers, serverEnvironment } from '../servers.js';
import { hasPython, interpreter, runExample } from './python.js';

const describeWithPython = hasPython ? describeOnServers : (describe.skip as typeof describe);
const t = 1_700_000_000_000;
const iso = (ms: number): string => new Date(ms).toISOString();

describeWithPython('a client that is not ours', () => {
  let deployment: ClusterDeployment;
  let orgId: string;
  let where: readonly string[];
  beforeAll(async () => {
    [deployment] = await Promise.all([ClusterDeployment.start(), interpreter()]);
    orgId = ((await ask('/api/auth/verify-key')) as { org_id: string }).org_id;
    const { HEADWATER_KAFKA_BROKERS: brokers, HEADWATER_REGISTRY_URL: registry } = serverEnvironment();
    where = ['--brokers', brokers!, '--registry', registry!, '--topic', `${deployment.topicPrefix}telemetry.points.v1`];
  }, 300_000);
  afterAll(() => deployment?.stop());

  async function ask(path: string, body?: object): Promise<unknown> {
    const { status, text } = await send(deployment.urls.api, {
      path,
      headers: { 'x-api-key': deployment.keys.own, 'content-type': 'application/json' },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    });
    expect(`${status} ${text}`).toMatch(/^200 /);
    return JSON.parse(text);
  }

  const consumed = async (): Promise<unknown[]> => {
    const lines = await runExample('consume.py', [...where, '--to-end']);
    return lines
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as unknown);
  };

  it('reads the points that were ingested', async () => {
    const points = [
      { metric: 'a.b', value: 0.1, timestamp: t },
      { metric: 'a.b', value: -2, timestamp: t + 1 },
      { metric: 'é, \u{1F600}', value: 1e300, timestamp: t, tags: { room: 'cellar' } },
    ];
    await ask('/ingest', { source_id: 'read', points });
    const expected = points.map(({ metric, value, timestamp, tags = {} }) => {
      return { org_id: orgId, source_id: 'read', metric, tags, timestamp_ms: timestamp, value };
    });
    expect(await consumed()).toEqual(expected);
  });

  it('reads a batch that was compressed with zstd', async () => {
    const points = Array.from({ length: 2_000 }, (_, n) => ({ metric: 'many', value: n / 8, timestamp: t + n }));
    await ask('/ingest', { source_id: 'compressed', points });
    const found = (await consumed()) as { readonly source_id: string; readonly timestamp_ms: number; readonly value: number }[];
    const mine = found.filter(({ source_id: sourceId }) => sourceId === 'compressed');
    expect(mine.map(({ timestamp_ms: timestamp, value }) => ({ metric: 'many', value, timestamp }))).toEqual(points);
  });

  it.each(['none', 'gzip', 'snappy', 'lz4', 'zstd'])('appends a point that the read API shows, compression %s', async (compression) => {
    const source = `written-${compression}`;
    const metric = 'm'.repeat(200);
    const point = ['--org', orgId, '--source', source, '--metric', metric, '--value', '61.5', '--timestamp-ms', `${t}`];
    await runExample('produce.py', [...where, ...point, '--compression', compression]);
    await deployment.settle();
    const answer = await ask(`/v1/sources/${source}/metrics/query?start=${iso(t)}&end=${iso(t + 1000)}`);
    expect(answer).toMatchObject({ series: { [metric]: { timestamp_ms: [t], value: [61.5] } } });
  });
});
