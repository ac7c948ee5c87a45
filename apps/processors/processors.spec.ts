import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { CLOCK, Keyring, Metrics, Outbound, Readiness } from '#edge';
import { CHECKPOINT_MS, entry, RECORD_LOG, VIEWS, type Entry, type RecordLog } from '#log';
import type { Sample } from '#model';
import { openStorage, type Storage } from '#sqlite';
import { GENERATIONS, onlyGeneration, type SeriesStore } from '#stores';
import { noOutbound, eventually, withMethods } from '#testing';
import { events, groups, points, sources } from '#topics';
import { ProcessorsModule } from './processors.module.js';

const t = 1_700_000_000_000;
const event = { metric: 'door', timestampMs: t, value: 'open', isJson: false, tags: '', place: 0, ordinal: 0 };
const someRecords = (sourceId: string): Entry[] => [
  entry(points, { orgId: 'o', sourceId, receivedMs: t, series: [{ metric: 'm', tags: '', timestampMs: times(t), value: times(1) }] }),
  entry(events, { orgId: 'o', sourceId, receivedMs: t + 1, origin: 'source', events: [event] }),
];
const times = (...values: number[]): Float64Array => Float64Array.from(values);

describe('the processors of a process', () => {
  let folder: string;
  let storage: Storage;
  let app: INestApplicationContext;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-processors-'));
    storage = await openStorage(folder);
    await storage.log.append(someRecords('a'));
    app = await start();
  });
  afterEach(async () => {
    await stop();
    await rm(folder, { recursive: true });
  });

  async function create(): Promise<INestApplicationContext> {
    const providers = [
      { provide: CHECKPOINT_MS, useValue: 60_000 },
      { provide: RECORD_LOG, useValue: storage.log },
      { provide: VIEWS, useValue: storage.views },
      { provide: GENERATIONS, useValue: onlyGeneration(storage) },
      { provide: CLOCK, useValue: Date.now },
      { provide: Outbound, useValue: noOutbound },
      Keyring,
      Readiness,
      Metrics,
    ];
    const ports = { module: class Ports {}, global: true, providers, exports: providers };
    @Module({ imports: [ports, ProcessorsModule] })
    class Role {}
    return NestFactory.createApplicationContext(Role, { logger: false, abortOnError: false });
  }

  async function start(): Promise<INestApplicationContext> {
    const context = await create();
    await context.get(Readiness).opened();
    return context;
  }

  async function stop(): Promise<void> {
    await app.close();
    await storage.close();
  }

  const ready = (): Promise<void> => eventually(() => expect(app.get(Readiness).reasons()).toEqual([]));

  async function figure(name: string): Promise<Record<string, number>> {
    const samples = (await app
      .get(Metrics)
      .all.find((metric) => metric.name === name)!
      .read()) as Sample[];
    return Object.fromEntries(samples.map(({ labels, value }) => [labels['group']!, value]));
  }

  const window = { startMs: 0, endMs: 1e15 };
  async function projected(sourceId: string): Promise<unknown> {
    const raw = await storage.series.raw({ orgId: 'o', sourceId, metrics: undefined, window, limit: 10 });
    const log = await storage.events.window('o', sourceId, window, 10);
    return { points: raw.series.length, events: log.length, source: storage.views.open(sources).get(`o/${sourceId}`) };
  }
  const heardAt = (ms: number): { firstReceivedMs: number; lastReceivedMs: number } => ({ firstReceivedMs: ms, lastReceivedMs: ms });
  const everything = (sourceId: string): unknown => ({
    points: 1,
    events: 1,
    source: { orgId: 'o', sourceId, firstReceivedMs: t, lastReceivedMs: t + 1, heardIn: { points: heardAt(t), events: heardAt(t + 1) } },
  });

  it('are not ready before they have caught up with what was in the log at the start', async () => {
    await stop();
    storage = await openStorage(folder);
    await storage.log.append(someRecords('b'));
    const { series } = storage;
    const gate = Promise.withResolvers<void>();
    const held: Pick<SeriesStore, 'write' | 'checkpoint'> = {
      write: (batches, lease) => gate.promise.then(() => series.write(batches, lease)),
      checkpoint: () => series.checkpoint(),
    };
    storage = { ...storage, series: held as SeriesStore };
    app = await start();
    await eventually(() => expect(app.get(Readiness).reasons()).toEqual(['Not caught up with the log yet: series.']));
    gate.resolve();
    await ready();
    await expect(series.metricNames('o', 'b')).resolves.toEqual(['m']);
  });

  it('are ready once they have caught up, though that could not be told at first', async () => {
    await stop();
    storage = await openStorage(folder);
    const { log } = storage;
    let asked = 0;
    const consume: RecordLog['consume'] = async (options) => {
      const subscription = await log.consume(options);
      const caughtUp = (): Promise<void> => (asked++ < 3 ? Promise.reject(new Error('the log is away')) : subscription.caughtUp());
      return withMethods(subscription, { caughtUp });
    };
    storage = { ...storage, log: withMethods(log, { consume }) };
    app = await start();
    await ready();
    // Groups that tick ask again and again.
    expect(asked).toBeGreaterThanOrEqual(3 + groups.length);
  });

  it('end while a group still waits to join', async () => {
    await stop();
    storage = await openStorage(folder);
    const { log } = storage;
    const joining = Promise.withResolvers<void>();
    const consume: RecordLog['consume'] = (options) =>
      options.group === 'events' ? (joining.resolve(), new Promise(() => {})) : log.consume(options);
    storage = { ...storage, log: withMethods(log, { consume }) };
    app = await create();
    await joining.promise;
    await expect(app.close()).resolves.toBeUndefined();
    await storage.close();
    storage = await openStorage(folder);
    app = await start();
    await ready();
  });

  it('are those that the registry gives to this role', async () => {
    const own = groups.filter(({ role }) => role === 'processors').map(({ name }) => name);
    expect(Object.keys(await figure('headwater_group_lag_records')).toSorted()).toEqual(own.toSorted());
  });

  it('project what is appended later', async () => {
    await storage.log.append(someRecords('b'));
    await eventually(async () => expect(await projected('b')).toMatchObject({ points: 1, events: 1, source: { sourceId: 'b' } }));
  });

  it('stop with a checkpoint, so that the next start has nothing to do again', async () => {
    await ready();
    await stop();
    storage = await openStorage(folder);
    app = await start();
    await ready();
    await eventually(() => expect(storage.views.open(sources).get('o/a')).toBeDefined());
    await expect(projected('a')).resolves.toEqual(everything('a'));
    await expect(figure('headwater_group_processed_records')).resolves.toEqual({
      series: 0,
      events: 0,
      sources: 0,
      keys: 0,
      decisions: 0,
      monitors: 0,
      'source-alerts': 0,
      notices: 0,
      deliveries: 0,
    });
    await expect(figure('headwater_group_lag_records')).resolves.toEqual({
      series: 0,
      events: 0,
      sources: 0,
      keys: 0,
      decisions: 0,
      monitors: 0,
      'source-alerts': 0,
      notices: 0,
      deliveries: 0,
    });
  });

  it('begin again from the last checkpoint after a crash', async () => {
    await ready();
    await storage.crash();
    await app.close();
    storage = await openStorage(folder);
    app = await start();
    await ready();
    await eventually(async () => expect(await projected('a')).toEqual(everything('a')));
    await expect(figure('headwater_group_processed_records')).resolves.toEqual({
      series: 1,
      events: 1,
      sources: 2,
      keys: 0,
      decisions: 0,
      monitors: 0,
      'source-alerts': 0,
      notices: 0,
      deliveries: 0,
    });
  });
});
