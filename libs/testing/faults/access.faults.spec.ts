import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { Type } from '@nestjs/common';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { entry } from '#log';
import { cluster as clusterOf, readConfig, start, withLog, type Role, type Running } from '#runtime';
import { sources } from '#topics';
import { run as runCommand } from '../../../apps/cli/test-run.js';
import { IngressModule } from '../../../apps/ingress/ingress.module.js';
import { ProcessorsModule } from '../../../apps/processors/processors.module.js';
import { QueryModule } from '../../../apps/query/query.module.js';
import { Authority } from '../certificates.js';
import { ClusterDeployment } from '../cluster-deployment.js';
import { eventually } from '../eventually.js';
import { ApiClient, type QueryJson } from '../http/client.js';
import { describeOnOwnServers } from '../servers.js';
import { portOf, tlsFront } from '../tls-front.js';
import { loginS, startSecuredServers, type Settings } from './secured-servers.js';

const startMs = 300_000;
const dayMs = 86_400_000;
const wrong = 'wrong-secret';
const stranger = new Authority('a stranger');
const strangers = stranger.certify();

/** A setting that is not read from its file. */
const instead = (variable: string, text: string): Settings => ({ [`${variable}_FILE`]: '', [variable]: text });
const noCertificate = { ...instead('HEADWATER_KAFKA_CERT', ''), ...instead('HEADWATER_KAFKA_KEY', '') };
const wrongPassword = instead('HEADWATER_KAFKA_PASSWORD', wrong);
const untrusted = 'no trusted authority has signed the certificate of [\\w.]+:\\d+, so check the setting that names the CA\\.';
const wantsCertificate = /Kafka cannot be used: [\d.:]+ wants a client certificate that it trusts\./;

describeOnOwnServers('servers that want TLS, passwords and a client certificate', () => {
  const folder = mkdtempSync(join(tmpdir(), 'headwater-access-'));
  let servers: Awaited<ReturnType<typeof startSecuredServers>>;
  let cluster: ClusterDeployment;
  let client: ApiClient;
  const running: Running[] = [];
  beforeAll(async () => {
    servers = await startSecuredServers(folder);
    cluster = await ClusterDeployment.start({ servers: servers.settings, replicas: ['ingress', 'processors', 'query', 'control'] });
    client = new ApiClient(() => cluster.urls, cluster.keys.own);
  }, startMs);
  afterEach(async () => void (await Promise.all(running.splice(0).map((role) => role.stop()))));
  afterAll(async () => {
    await cluster?.stop();
    await servers?.stop();
  }, startMs);

  const secretsIn = (text: string): readonly string[] => [...servers.secretsIn(text), ...(text.includes(wrong) ? [wrong] : [])];

  /** Runs a role until `/health/ready` says a sentence. The secrets that it has shown anywhere. */
  async function secretsOnceSaid(sentence: RegExp, module: Type, name: Role, more: Settings): Promise<readonly string[]> {
    let said = '';
    const here = { HEADWATER_CACHE: mkdtempSync(join(folder, 'cache-')), HEADWATER_PORT: '0', HEADWATER_ADMIN_PORT: '0' };
    const logger = pino({ level: 'trace' }, { write: (line: string) => void (said += line) });
    const role = await start(module, clusterOf(name), readConfig({ ...cluster.environment, ...here, ...more }), logger);
    running.push(role);
    await eventually(async () => {
      const answer = await fetch(`${role.url}/health/ready`);
      const text = await answer.text();
      expect([answer.status, text]).toEqual([503, expect.stringMatching(sentence)]);
      said += text;
    });
    expect((await fetch(`${role.url}/health`)).status).toBe(200);
    return secretsIn(said + (await (await fetch(`${role.adminUrl}/metrics`)).text()));
  }

  const valuesOf = async (source: string, fromMs: number): Promise<readonly number[]> => {
    await cluster.settle();
    const window = `start=${new Date(fromMs).toISOString()}&end=${new Date(Date.now() + 1000).toISOString()}`;
    const { series } = await client.json<QueryJson>(`/v1/sources/${source}/metrics/query?metrics=m&${window}&interval=raw`);
    return series['m']!.value!;
  };

  it('serve a whole cluster, for longer than a login to Kafka lasts', async () => {
    const beganMs = Date.now();
    let n = 0;
    for (; Date.now() < beganMs + 1000 * (loginS + 4); n++) {
      await client.accepted({ source_id: 'long', points: [{ metric: 'm', value: n, timestamp: beganMs + n }] });
      await pause(200);
    }
    expect(await valuesOf('long', beganMs)).toEqual(Array.from({ length: n }, (_, at) => at));
  }, 120_000);

  it.each([['PLAIN'], ['SCRAM-SHA-256']])('let in with %s too', async (mechanism) => {
    const config = readConfig({ ...cluster.environment, HEADWATER_KAFKA_SASL: mechanism });
    await withLog(config, async ({ log, views }) => {
      // A log waits a few seconds for its servers, and a busy machine may need longer.
      await eventually(() => log.append([entry(sources, { orgId: 'o', sourceId: mechanism, firstReceivedMs: 1, lastReceivedMs: 2 })]));
      const view = views.open(sources);
      await view.ready;
      await eventually(() => expect(view.get(`o/${mechanism}`)?.lastReceivedMs).toBe(2));
    });
  });

  it.each<[string, Settings, RegExp]>([
    [
      'a wrong password',
      wrongPassword,
      /Kafka cannot be used: SASL SCRAM SHA512 authentication failed: .*: check HEADWATER_KAFKA_SASL, HEADWATER_KAFKA_USERNAME and HEADWATER_KAFKA_PASSWORD\./,
    ],
    [
      'a wrong password, PLAIN',
      { ...wrongPassword, HEADWATER_KAFKA_SASL: 'PLAIN' },
      /Kafka cannot be used: SASL PLAIN .* check HEADWATER_KAFKA_SASL/,
    ],
    ['a wrong CA', instead('HEADWATER_KAFKA_CA', stranger.cert), new RegExp(`Kafka cannot be used: ${untrusted}`)],
    ['no client certificate', noCertificate, wantsCertificate],
    [
      'the client certificate of a stranger',
      { ...instead('HEADWATER_KAFKA_CERT', strangers.cert), ...instead('HEADWATER_KAFKA_KEY', strangers.key) },
      wantsCertificate,
    ],
    [
      'a wrong CA of the registry',
      instead('HEADWATER_REGISTRY_CA', stranger.cert),
      new RegExp(`The schema registry does not answer: ${untrusted}`),
    ],
  ])('are not used by a role with %s, which lives, says so and shows no secret', async (_, more, sentence) => {
    expect(await secretsOnceSaid(sentence, IngressModule, 'ingress', more)).toEqual([]);
  });

  it('are not used by a role once their certificate has expired, which lives and says so', async () => {
    const expired = servers.authority.certify({ fromMs: Date.now() - 2 * dayMs, toMs: Date.now() - dayMs });
    const front = await tlsFront(expired, 1);
    const sentence = /Kafka cannot be used: the certificate of [\d.:]+ has expired, so renew it there\./;
    const more = { HEADWATER_KAFKA_BROKERS: `127.0.0.1:${portOf(front)}` };
    expect(await secretsOnceSaid(sentence, IngressModule, 'ingress', more)).toEqual([]);
    front.close();
  });

  it('are not used by a role without TLS or without a password, which says what to check', async () => {
    const sentence =
      /Kafka cannot be used: [\d.:]+ closes our connections: if it always does, check HEADWATER_KAFKA_TLS and HEADWATER_KAFKA_SASL\./;
    const noTls = { HEADWATER_KAFKA_TLS: 'off', ...instead('HEADWATER_KAFKA_CA', ''), ...noCertificate };
    const noPassword = { HEADWATER_KAFKA_SASL: '', HEADWATER_KAFKA_USERNAME: '', ...instead('HEADWATER_KAFKA_PASSWORD', '') };
    const without = [noTls, noPassword].map((more) => secretsOnceSaid(sentence, IngressModule, 'ingress', more));
    expect(await Promise.all(without)).toEqual([[], []]);
  });

  it.each<[string, () => Settings, RegExp]>([
    [
      'a wrong password',
      () => instead('HEADWATER_QUESTDB_PG', servers.pgAs(wrong)),
      /QuestDB refuses the user or the password in HEADWATER_QUESTDB_PG\./,
    ],
    ['a wrong CA', () => instead('HEADWATER_QUESTDB_CA', stranger.cert), new RegExp(`QuestDB cannot be used: ${untrusted}`)],
  ])('are not used by a role with %s of QuestDB, which says so and shows no secret', async (_, more, sentence) => {
    expect(await secretsOnceSaid(sentence, QueryModule, 'query', more())).toEqual([]);
  });

  it('keep points waiting while a processor has a wrong password for writing to QuestDB', async () => {
    const [processor] = cluster.processes('processors');
    await processor!.stop('SIGTERM');
    const timestamp = Date.now();
    await client.accepted({ source_id: 'waits', points: [{ metric: 'm', value: 7, timestamp }] });
    const sentence =
      /QuestDB refuses us \(401\): check HEADWATER_QUESTDB_USERNAME and HEADWATER_QUESTDB_PASSWORD, or HEADWATER_QUESTDB_TOKEN\./;
    const more = instead('HEADWATER_QUESTDB_PASSWORD', wrong);
    expect(await secretsOnceSaid(sentence, ProcessorsModule, 'processors', more)).toEqual([]);
    await running.pop()!.stop();
    processor!.start();
    await processor!.ready();
    expect(await valuesOf('waits', timestamp)).toEqual([7]);
  }, 120_000);

  it.each<[string, Settings, RegExp]>([
    ['a wrong password', wrongPassword, /Kafka cannot be used: SASL SCRAM SHA512 .* check HEADWATER_KAFKA_SASL/],
    [
      'a wrong CA although Node is told to check nothing',
      { ...instead('HEADWATER_KAFKA_CA', stranger.cert), NODE_TLS_REJECT_UNAUTHORIZED: '0' },
      new RegExp(`Kafka cannot be used: ${untrusted}`),
    ],
  ])('are not used by a command with %s, which says so and shows no secret', async (_, more, sentence) => {
    const { stdout, stderr, code } = await runCommand(['topics'], { env: { ...cluster.environment, ...more } });
    expect(stderr).toMatch(sentence);
    expect([stdout, code, secretsIn(stderr)]).toEqual(['', 1, []]);
  });
});
