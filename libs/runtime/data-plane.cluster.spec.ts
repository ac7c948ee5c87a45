import type { Type } from '@nestjs/common';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomInt } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Kafka, logLevel } from 'kafkajs';
import { entry, type Moved, type Start } from '#log';
import type { Projection } from '#model';
import { describeOnServers, eventually, makeOrganization, serverEnvironment } from '#testing';
import { points, projections } from '#topics';
import { ControlModule } from '../../apps/control/control.module.js';
import { IngressModule } from '../../apps/ingress/ingress.module.js';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { QueryModule } from '../../apps/query/query.module.js';
import { openAdapters, openStores, withLog } from './adapters.js';
import { cluster } from './cluster.js';
import { readConfig } from './config.js';
import { replayGroup } from './replay-group.js';
import { initDataPlane, rebuildDataPlane, verifyDataPlane } from './data-plane.js';
import { createLogger } from './logger.js';
import { Retention } from './retention.js';
import type { Role } from './roles.js';
import type { Config } from './settings.js';
import { start, type Running } from './start.js';

const number = randomInt(1, 1_000_000);
const silent = (): void => undefined;

describeOnServers('the data plane', () => {
  let config: Config;
  let key: string;
  const running: Running[] = [];
  beforeAll(() => {
    config = readConfig({
      ...serverEnvironment(),
      HEADWATER_KAFKA_PREFIX: `plane${number}.`,
      HEADWATER_CACHE: mkdtempSync(join(tmpdir(), 'headwater-cache-')),
      HEADWATER_PORT: '0',
      HEADWATER_ADMIN_PORT: '0',
      HEADWATER_CHECKPOINT_SECONDS: '1',
    });
  });
  afterAll(() => stop());

  async function stop(): Promise<void> {
    for (const one of running.splice(0)) await one.stop();
  }
  async function run(role: Role, module: Type): Promise<Running> {
    const one = await start(module, cluster(role), config, await createLogger('silent'));
    running.push(one);
    await one.opened;
    return one;
  }
  const generations = (): Promise<Projection | undefined> =>
    withLog(config, async ({ views }) => {
      const view = views.open(projections);
      await view.ready;
      return view.get('telemetry');
    });
  /** Those that have taken everything. */
  const groupsOf = (live: number): Record<string, number> => ({ [`series.g${live}`]: 0, [`events.g${live}`]: 0 });
  const lags = async (): Promise<Record<string, number>> => {
    const { groups } = await withLog(config, (kafka) => kafka.groups.report());
    const byGroup = Object.entries(Object.groupBy(groups, ({ group }) => group));
    return Object.fromEntries(byGroup.map(([group, its]) => [group, its!.reduce((sum, { lag }) => sum + lag, 0)]));
  };

  const replay = (group: string, from: Start): Promise<Moved> => withLog(config, (kafka) => replayGroup(kafka, group, from));

  const lackOfTags = new RegExp(`Tags are not part of a point's identity in generation ${1000 * number}.* Run \`headwater rebuild\``);
  const lackOfArrivals = new RegExp(`do not come in the order of their arrival in generation ${1000 * number}.* Run \`headwater rebuild\``);
  const taggedMs = 1_650_000_000_000;
  /** What readers see of two points that differ in tags only: the values, and the counts of two buckets. */
  const seen = async ({ url }: Running): Promise<unknown> => {
    const window = `start=${new Date(taggedMs).toISOString()}&end=${new Date(taggedMs + 60_000).toISOString()}`;
    const ask = async (interval: string): Promise<Record<string, { readonly value?: number[]; readonly count?: number[] }>> => {
      const path = `/v1/sources/a/metrics/query?metrics=cpu&${window}&interval=${interval}`;
      const answer = await fetch(url + path, { headers: { 'x-api-key': key } });
      return ((await answer.json()) as { series: Awaited<ReturnType<typeof ask>> }).series;
    };
    const events = await fetch(`${url}/v1/sources/a/logs`, { headers: { 'x-api-key': key } });
    expect(await events.json()).toMatchObject([{ metric: 'e', value: 'x' }]);
    return [(await ask('raw'))['cpu']?.value, (await ask('1m'))['cpu']?.count, (await ask('1d'))['cpu']?.count];
  };

  it('has nothing to rebuild before it is made', async () => {
    await expect(rebuildDataPlane(config, { told: silent, lags: silent })).rejects.toThrow('run `headwater init --data-plane` first');
  });

  it('is made once, with one key, though two make it at the same time, and goes on with tables of an earlier version', async () => {
    const names = 'ts TIMESTAMP, org SYMBOL, source SYMBOL INDEX';
    const earlier = [
      ['points', `${names}, metric SYMBOL, value DOUBLE, tags SYMBOL`, 'ts, org, source, metric'],
      ['events', `${names}, name SYMBOL, value VARCHAR, tags VARCHAR, digest VARCHAR, place INT`, 'ts, org, source, name, digest, place'],
    ];
    for (const [table, columns, keys] of earlier) {
      const form = `TIMESTAMP(ts) PARTITION BY DAY WAL DEDUP UPSERT KEYS(${keys})`;
      const query = `CREATE TABLE ${table}_g${1000 * number} (${columns}) ${form}`;
      expect((await fetch(`${config.questDbUrl}/exec?query=${encodeURIComponent(query)}`)).status).toBe(200);
    }
    const secrets = await Promise.all([1, 2].map(() => initDataPlane(config, silent, 1000 * number)));
    const made = secrets.filter((secret) => secret !== undefined);
    expect(made).toEqual([expect.stringMatching(/^hw_/)]);
    key = made[0]!;
    const said: string[] = [];
    expect(await initDataPlane(config, (line) => said.push(line))).toBeUndefined();
    expect(said).toEqual([expect.stringMatching(lackOfTags), expect.stringMatching(lackOfArrivals)]);
    const { topics } = await withLog(config, (kafka) => kafka.groups.report());
    const records = Object.fromEntries(topics.map(({ topic, records: count }) => [topic, count]));
    expect(records).toMatchObject({ 'telemetry.points.v1': 0 });
    for (const topic of ['organizations.v1', 'api-keys.v1', 'projections.v1']) expect(records[topic]).toBeGreaterThanOrEqual(1);
  });

  it('shows how far each group is', async () => {
    const { url } = await run('ingress', IngressModule);
    await run('processors', ProcessorsModule);
    const tagged = [0, 1].map((core) => ({ metric: 'cpu', value: core, timestamp: taggedMs, tags: { core: String(core) } }));
    const others = [
      { metric: 'm', value: 1 },
      { metric: 'e', class: 'event', value: 'x' },
    ];
    const body = JSON.stringify({ source_id: 'a', points: [...tagged, ...others] });
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    expect((await fetch(`${url}/ingest`, { method: 'POST', headers, body })).status).toBe(200);
    const generation = `g${1000 * number}`;
    await eventually(async () =>
      expect(await lags()).toEqual({ [`series.${generation}`]: 0, [`events.${generation}`]: 0, sources: 0, keys: 0, monitors: 0 }),
    );
  });

  it('keeps the last of points that differ in tags only where the tables are of an earlier version, and each role says so', async () => {
    const query = await run('query', QueryModule);
    await eventually(async () => expect(await seen(query)).toEqual([[1], [1], [1]]));
    for (const role of ['query', 'processors'] as const) {
      const said: string[] = [];
      const open = await cluster(role).open(config, Date.now, (line) => said.push(line));
      await eventually(() => Promise.resolve(expect(said).toContainEqual(expect.stringMatching(lackOfTags))));
      await open.close();
    }
  });

  it('moves no group that runs, and one that does not back to where it is told', async () => {
    await expect(replay('nobody', 'beginning')).rejects.toThrow('There is no group nobody');
    await expect(replay('sources', 'beginning')).rejects.toThrow('stop all processors first');
    await stop();
    for (const [from, left] of [
      [{ offset: 1_000_000 }, 0],
      [{ timestampMs: 1 }, 2],
      [{ offset: 1_000_000 }, 2],
      ['beginning', 2],
    ] as const) {
      const topics = ['telemetry.events.v1', 'telemetry.points.v1'];
      expect(await replay('sources', from)).toEqual({ topics, cut: [] });
      expect(await lags()).toMatchObject({ sources: left });
    }
    await run('processors', ProcessorsModule);
    await eventually(async () => expect(await lags()).toMatchObject({ sources: 0 }));
  });

  it('is made again beside the live one, as often as it is told', async () => {
    const next = 1000 * number + 1;
    const query = await run('query', QueryModule);
    expect(await rebuildDataPlane(config, { told: silent, lags: silent, leaveMs: 10 })).toBe(next);
    await eventually(async () => expect(await seen(query)).toEqual([[0, 1], [2], [2]]));
    const said: string[] = [];
    expect(await initDataPlane(config, (line) => said.push(line))).toBeUndefined();
    expect(said).toEqual([]);
    expect(await rebuildDataPlane(config, { told: silent, lags: silent, leaveMs: 10 })).toBe(next + 1);
    await eventually(async () => expect(await lags()).toEqual({ ...groupsOf(next + 1), sources: 0, keys: 0, monitors: 0 }));
  });

  it('leaves no group of a generation that is gone, and gives no number twice', async () => {
    const { live } = (await generations())!;
    await verifyDataPlane(config, false, { told: silent, lags: silent });
    expect(await lags()).toEqual({ ...groupsOf(live), sources: 0, keys: 0, monitors: 0 });
    expect(await generations()).toMatchObject({ live, building: null });
    expect(await rebuildDataPlane(config, { told: silent, lags: silent, leaveMs: 10 })).toBe(live + 2);
    await eventually(async () => expect(await lags()).toEqual({ ...groupsOf(live + 2), sources: 0, keys: 0, monitors: 0 }));
  });

  describe('of a log that Kafka has deleted records of', () => {
    const watcher = { told: silent, lags: silent, leaveMs: 10 };
    /** Retention at once: the oldest records of every partition go, but for so many. */
    const deleteRecords = async (kept: number): Promise<void> => {
      const admin = new Kafka({ brokers: [...config.brokers], logLevel: logLevel.NOTHING }).admin();
      await admin.connect();
      const topic = config.topicPrefix + points.name;
      const offsets = await admin.fetchTopicOffsets(topic);
      const partitions = offsets.map(({ partition, high, low }) => ({
        partition,
        offset: `${Math.max(Number(low), Number(high) - kept)}`,
      }));
      await admin.deleteTopicRecords({ topic, partitions: partitions.filter(({ offset }) => offset !== '0') });
      await admin.disconnect();
    };
    const send = async (url: string, timestamp: number): Promise<void> => {
      const body = JSON.stringify({ source_id: 'a', points: [{ metric: 'm', value: 2, timestamp }] });
      const headers = { 'x-api-key': key, 'content-type': 'application/json' };
      expect((await fetch(`${url}/ingest`, { method: 'POST', headers, body })).status).toBe(200);
    };

    it('is not mended unless it is told to, and no generation is begun', async () => {
      const { url } = await run('ingress', IngressModule);
      await send(url, 1_600_000_000_000);
      const before = (await generations())!;
      await eventually(async () => expect(await lags()).toMatchObject({ [`series.g${before.live}`]: 0 }));
      await deleteRecords(1);
      const gone = /telemetry\.points\.v1: 1 record of 1 of its 24 partitions, appended before 20\d\d-.*--without-deleted-records/;
      await expect(verifyDataPlane(config, true, watcher)).rejects.toThrow(gone);
      expect(await generations()).toEqual(before);
    });

    it('is compared as far as the log goes', async () => {
      const before = await generations();
      const told: string[] = [];
      const found = await verifyDataPlane(config, false, { ...watcher, told: (line) => told.push(line) });
      expect(found).toMatchObject({ differences: 0, repaired: false });
      // The points of the first record, their buckets of each level and the name of one of their metrics; what the second record says is in both.
      expect([found.unverifiable, found.rows]).toEqual([10, 13]);
      expect(told).toContainEqual(expect.stringContaining('Only what the log still holds is compared'));
      expect(await generations()).toMatchObject({ live: before!.live, building: null });
    });

    it('is made again with what the live one has of them', async () => {
      const { live } = (await generations())!;
      const rows = async (generation: number): Promise<unknown[]> => {
        const stores = await openStores(config, Date.now);
        const found: unknown[] = [];
        for await (const row of stores.rows(generation)) found.push(row);
        await stores.close();
        return found;
      };
      const before = await rows(live);
      const told: string[] = [];
      const stopped = await generations();
      const rebuilt = await rebuildDataPlane(config, { ...watcher, told: (line) => told.push(line) });
      expect(told[0]).toMatch(/take over what the live ones have .*telemetry\.points\.v1: 1 record /);
      expect(await rows(rebuilt)).toEqual(before);
      expect(await generations()).toMatchObject({ ...stopped, live: rebuilt, highest: rebuilt });
    });

    it('is made again without them when it is told to, and says what is gone', async () => {
      const told: string[] = [];
      const live = await rebuildDataPlane(config, { ...watcher, told: (line) => told.push(line) }, { withoutDeleted: true });
      expect(told[0]).toMatch(/The new projections will lack .*telemetry\.points\.v1: 1 record /);
      expect(await generations()).toMatchObject({ live, building: null });
    });

    it('is given up when more is deleted before the new projections have it', async () => {
      await stop();
      const before = await generations();
      const begun = Promise.withResolvers<void>();
      const told = (line: string): void => void (line.startsWith('The processors make') && begun.resolve());
      const rebuilt = rebuildDataPlane(config, { ...watcher, told }, { withoutDeleted: true });
      await Promise.all([
        expect(rebuilt).rejects.toThrow('Kafka has deleted 1 record of telemetry.points.v1 before the new projections had them'),
        begun.promise.then(() => deleteRecords(0)),
      ]);
      expect(await generations()).toMatchObject({ live: before!.live, building: null });
    });
  });

  it('forgets what it is told to once its groups have brought all there was, by the time of the brokers', async () => {
    const dayMs = 86_400_000;
    const { url } = await run('ingress', IngressModule);
    await run('processors', ProcessorsModule);
    const current = (await generations())!;
    const adapters = await openAdapters(config, silent);
    const keep = { raw: dayMs, '1m': 2 * dayMs, '1h': Infinity, '1d': Infinity, events: dayMs };
    const agreed = { after: (timestampMs: number, moves: boolean): number | undefined => (moves ? timestampMs : undefined) };
    const retention = new Retention(
      keep,
      adapters.stores,
      adapters.kafka.groups,
      () => current,
      () => agreed,
    );
    try {
      const beforeMs = Date.now();
      for (const metric of ['m', 'n']) {
        const body = JSON.stringify({
          source_id: 'a',
          points: [
            { metric, value: 1 },
            { metric, class: 'event', value: 'x' },
          ],
        });
        const headers = { 'x-api-key': key, 'content-type': 'application/json' };
        expect((await fetch(`${url}/ingest`, { method: 'POST', headers, body })).status).toBe(200);
      }
      await eventually(async () => {
        await retention.look();
        const { raw, '1m': minutes, '1h': hours, events } = await adapters.stores.keptFrom(current.live);
        expect([raw, minutes, hours, events]).toEqual([expect.any(Number), raw - dayMs, 0, raw]);
        expect(beforeMs - raw).toBeGreaterThanOrEqual(dayMs - 60_000);
        expect(beforeMs - raw).toBeLessThan(2 * dayMs);
      });
    } finally {
      await adapters.close();
    }
  });

  it('obeys deletions, and is the same when it is made again', async () => {
    const watcher = { told: silent, lags: silent, leaveMs: 10 };
    const [ingress, query] = [await run('ingress', IngressModule), await run('query', QueryModule)];
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const send = async (source_id: string, metric: string): Promise<void> => {
      const both = [
        { metric, value: 1 },
        { metric, class: 'event', value: 'x' },
      ];
      const body = JSON.stringify({ source_id, points: both });
      expect((await fetch(`${ingress.url}/ingest`, { method: 'POST', headers, body })).status).toBe(200);
    };
    const known = async (source: string): Promise<unknown> => {
      const ask = async (path: string): Promise<unknown> => (await fetch(`${query.url}/v1/sources/${source}${path}`, { headers })).json();
      const events = (await ask('/logs')) as readonly { readonly metric: string }[];
      return [await ask('/metrics'), await ask('/metrics/latest'), events.map(({ metric }) => metric)];
    };
    const having = (...metrics: readonly string[]): unknown => [
      metrics,
      { metrics: Object.fromEntries(metrics.map((metric) => [metric, 1])) },
      metrics,
    ];
    const becomes = (source: string, ...metrics: readonly string[]): Promise<void> =>
      eventually(async () => expect(await known(source)).toEqual(having(...metrics)));
    for (const source of ['gone', 'stays']) await send(source, 'm');
    for (const source of ['gone', 'stays']) await becomes(source, 'm');
    expect((await fetch(`${query.url}/v1/sources/gone`, { method: 'DELETE', headers })).status).toBe(204);
    await becomes('gone');
    await send('gone', 'n');
    await becomes('gone', 'n');
    expect(await verifyDataPlane(config, false, watcher)).toMatchObject({ differences: 0 });
    await rebuildDataPlane(config, watcher);
    await becomes('gone', 'n');
    await becomes('stays', 'm');
  });

  it('removes what a deleted organization has', async () => {
    await run('control', ControlModule);
    const adapters = await openAdapters(config, silent);
    try {
      const { log } = adapters.kafka;
      const orgIds = ['gone', 'other'].map((name) => `org_${name}${number}`) as [string, string];
      const nowMs = Date.now();
      const aRun = { metric: 'm', tags: '', timestampMs: Float64Array.of(nowMs), value: Float64Array.of(1) };
      const batches = orgIds.flatMap((orgId) =>
        ['a', 'b'].map((sourceId) => entry(points, { orgId, sourceId, receivedMs: nowMs, series: [aRun], deleted: null })),
      );
      await log.append(batches);
      const { live } = (await generations())!;
      const { series } = adapters.stores.open(live);
      const has = (...expected: readonly (readonly string[])[]): Promise<void> =>
        eventually(async () => {
          const names = orgIds.map(async (orgId) => [...(await series.metricNames(orgId, 'a')), ...(await series.metricNames(orgId, 'b'))]);
          expect(await Promise.all(names)).toEqual(expected);
        });
      await has(['m', 'm'], ['m', 'm']);
      await makeOrganization(log, true, orgIds[1]);
      await makeOrganization(log, true, orgIds[0], nowMs);
      await has([], ['m', 'm']);
    } finally {
      await adapters.close();
    }
  });
});
