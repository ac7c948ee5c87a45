import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CLOCK, Keyring, Metrics, Outbound, Readiness } from '#edge';
import { CHECKPOINT_MS, entry, RECORD_LOG, VIEWS, type Entry } from '#log';
import type { Sample } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { GENERATIONS } from '#stores';
import { noOutbound, eventually } from '#testing';
import { events, points, projections } from '#topics';
import { ProcessorsModule } from '../../apps/processors/processors.module.js';
import { LiveGenerations, moveGenerations } from './live-generations.js';

const t = 1_700_000_000_000;
const window = { startMs: 0, endMs: 1e15 };
const event = { metric: 'door', timestampMs: t, value: 'open', isJson: false, tags: '', place: 0, ordinal: 0 };
const columns = (...values: number[]): Float64Array => Float64Array.from(values);
const records = (sourceId: string): Entry[] => [
  entry(points, { orgId: 'o', sourceId, receivedMs: t, series: [{ metric: 'm', tags: '', timestampMs: columns(t), value: columns(1) }] }),
  entry(events, { orgId: 'o', sourceId, receivedMs: t, origin: 'source', events: [event] }),
];

/** The log in one folder, the stores of each generation in a folder of its own. */
describe('generations that follow projections.v1', () => {
  let folder: string;
  let log: Storage;
  const stores = new Map<number, Storage>();
  const apps: INestApplicationContext[] = [];
  let generations: LiveGenerations;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-generations-'));
    log = await openStorage(join(folder, 'log'));
    for (const number of [1, 2]) stores.set(number, await openStorage(join(folder, `${number}`)));
    generations = new LiveGenerations(log.views.open(projections), {
      open: (number) => stores.get(number)!,
      whyNotWritten: () => undefined,
    });
  });
  afterEach(async () => {
    for (const app of apps.splice(0)) await app.close();
    for (const storage of [log, ...stores.values()]) await storage.close();
    stores.clear();
    await rm(folder, { recursive: true });
  });

  async function start(): Promise<INestApplicationContext> {
    const providers = [
      { provide: CHECKPOINT_MS, useValue: 50 },
      { provide: RECORD_LOG, useValue: log.log },
      { provide: VIEWS, useValue: log.views },
      { provide: GENERATIONS, useValue: generations },
      { provide: CLOCK, useValue: Date.now },
      { provide: Outbound, useValue: noOutbound },
      Keyring,
      Readiness,
      Metrics,
    ];
    const ports = { module: class Ports {}, global: true, providers, exports: providers };
    @Module({ imports: [ports, ProcessorsModule] })
    class Role {}
    const app = await NestFactory.createApplicationContext(Role, { logger: false, abortOnError: false });
    apps.push(app);
    await app.get(Readiness).opened();
    return app;
  }

  const move = (live: number, building: number | null): Promise<void> =>
    moveGenerations(log.log, { live, building, highest: Math.max(live, building ?? 0) });
  const held = async (number: number): Promise<unknown> => {
    const { series, events: entries } = stores.get(number)!;
    const names = await Promise.all(['a', 'b', 'c'].map(async (id) => ((await series.metricNames('o', id)).length > 0 ? id : '')));
    const logs = await Promise.all(['a', 'b', 'c'].map(async (id) => ((await entries.window('o', id, window, 10)).length > 0 ? id : '')));
    return [names.join(''), logs.join('')];
  };
  const groups = async (app: INestApplicationContext): Promise<string[]> => {
    const metric = app.get(Metrics).all.find(({ name }) => name === 'headwater_group_lag_records');
    return ((await metric!.read()) as Sample[]).map(({ labels }) => labels['group']!).toSorted();
  };

  it('there is none before the first record: nothing runs but what has no generation, and reads are refused', async () => {
    const app = await start();
    expect(await groups(app)).toEqual(['decisions', 'deliveries', 'keys', 'monitors', 'notices', 'source-alerts', 'sources']);
    expect(() => generations.live()).toThrow(expect.objectContaining({ code: 'store_unavailable' }));
  });

  it('a second one is made beside the first from the whole log, readers move when it is told, and the first stops', async () => {
    await log.log.append(records('a'));
    await move(1, null);
    const app = await start();
    await eventually(async () => expect(await held(1)).toEqual(['a', 'a']));
    expect(await held(2)).toEqual(['', '']);
    expect(await generations.live().series.metricNames('o', 'a')).toEqual(['m']);

    await move(1, 2);
    await eventually(async () =>
      expect(await groups(app)).toEqual([
        'decisions',
        'deliveries',
        'events.g1',
        'events.g2',
        'keys',
        'monitors',
        'notices',
        'series.g1',
        'series.g2',
        'source-alerts',
        'sources',
      ]),
    );
    await log.log.append(records('b'));
    for (const number of [1, 2]) await eventually(async () => expect(await held(number)).toEqual(['ab', 'ab']));
    expect(app.get(Readiness).reasons()).toEqual([]);

    await move(2, null);
    await eventually(async () =>
      expect(await groups(app)).toEqual([
        'decisions',
        'deliveries',
        'events.g2',
        'keys',
        'monitors',
        'notices',
        'series.g2',
        'source-alerts',
        'sources',
      ]),
    );
    await log.log.append(records('c'));
    await eventually(async () => expect(await generations.live().series.metricNames('o', 'c')).toEqual(['m']));
    await eventually(async () => expect(await generations.live().events.tail('o', 'c', 1)).toHaveLength(1));
    expect(await held(1)).toEqual(['ab', 'ab']);
  });

  it('a role that starts later finds what is wanted by then', async () => {
    await log.log.append(records('a'));
    await move(1, 2);
    const app = await start();
    for (const number of [1, 2]) await eventually(async () => expect(await held(number)).toEqual(['a', 'a']));
    expect(await groups(app)).toEqual([
      'decisions',
      'deliveries',
      'events.g1',
      'events.g2',
      'keys',
      'monitors',
      'notices',
      'series.g1',
      'series.g2',
      'source-alerts',
      'sources',
    ]);
  });
});
