import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openKafka } from '#kafka';
import { OperatorError } from '#model';
import { describeOnServers, eventually, openWay, serverEnvironment } from '#testing';
import { sources } from '#topics';
import { freePorts } from '../../infra/servers/index.js';
import { IngressModule } from '../../apps/ingress/ingress.module.js';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { QueryModule } from '../../apps/query/query.module.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { initDataPlane } from './data-plane.js';
import { createLogger } from './logger.js';
import type { Role } from './roles.js';
import type { Config } from './settings.js';
import { start, type Running } from './start.js';

const number = randomInt(1, 1_000_000);
const silent = (): void => undefined;

describeOnServers('roles that start before their Kafka', () => {
  let config: Config;
  let away: Config;
  let port: number;
  let key: string;
  let way: Server | undefined;
  const running = new Map<Role, Running>();
  beforeAll(async () => {
    [port] = (await freePorts(1)) as [number];
    const environment = {
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `late${number}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_CHECKPOINT_SECONDS: '1',
    };
    config = readConfig(environment);
    away = readConfig({ ...environment, HEADWATER_KAFKA_BROKERS: `127.0.0.1:${port}` });
    key = (await initDataPlane(config, silent, 1000 * number))!;
  });
  afterAll(async () => {
    for (const one of running.values()) await one.stop();
    way?.close();
  });

  const run = async (role: Role, module: Type, with_: Config): Promise<Running> =>
    start(module, cluster(role), with_, await createLogger('silent'));
  const ask = async (role: Role, path: string, body?: string): Promise<Response> =>
    fetch(running.get(role)!.url + path, {
      headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body }),
    });
  const outcome = async (...request: Parameters<typeof ask>): Promise<unknown> => {
    const answer = await ask(...request);
    return [answer.status, answer.headers.get('retry-after')];
  };
  const point = '{"source_id":"a","points":[{"metric":"m","value":1}]}';

  it('live, say why they are not ready, and refuse for a moment', async () => {
    running.set('ingress', await run('ingress', IngressModule, away));
    running.set('processors', await run('processors', ProcessorsModule, away));
    running.set('query', await run('query', QueryModule, away));
    for (const role of running.keys()) {
      expect([role, await outcome(role, '/health'), await outcome(role, '/health/live')]).toEqual([role, [200, null], [200, null]]);
      expect([role, await outcome(role, '/health/ready')]).toEqual([role, [503, '1']]);
      await eventually(async () => {
        const { reasons } = (await (await ask(role, '/health/ready')).json()) as { readonly reasons: readonly string[] };
        expect(reasons.join(' ')).toMatch(
          /Kafka does not answer: .*ECONNREFUSED.* What was in the log at the start has not been read yet\./,
        );
      });
    }
    expect(await outcome('ingress', '/ingest', point)).toEqual([503, '1']);
    expect(await outcome('query', '/v1/sources')).toEqual([503, '1']);
  });

  it('stop when they are told', async () => {
    const one = await run('processors', ProcessorsModule, away);
    await one.stop();
    await expect(one.opened).rejects.toMatchObject({ code: 'log_unavailable' });
    await expect(fetch(`${one.url}/health`)).rejects.toThrow('fetch failed');
  });

  it('are ready by themselves once it is there', async () => {
    way = await openWay(port, config.brokers[0]!);
    await Promise.all(Array.from(running.values(), (one) => one.opened));
    for (const role of running.keys())
      await eventually(async () => expect([role, await outcome(role, '/health/ready')]).toEqual([role, [200, null]]));
    expect(await outcome('ingress', '/ingest', point)).toEqual([200, null]);
    await eventually(async () => expect(await (await ask('query', '/v1/sources/a/metrics')).json()).toEqual(['m']));
  });

  it('end with a sentence when its topics are not ours', async () => {
    const prefix = `other${number}.`;
    const kafka = await openKafka({
      brokers: config.brokers,
      prefix,
      topics: [{ ...sources, partitions: 3 }],
      replicationFactor: 1,
      minInsyncReplicas: 1,
      registry: { url: config.registryUrl },
      report: silent,
    });
    await kafka.close();
    const one = await run('processors', ProcessorsModule, { ...config, topicPrefix: prefix });
    const opened = await one.opened.catch((error: unknown) => error);
    await one.stop();
    expect(opened).toBeInstanceOf(OperatorError);
    expect((opened as Error).message).toContain('sources.v1 has 3 partitions, and the contract says 24');
  });
});
