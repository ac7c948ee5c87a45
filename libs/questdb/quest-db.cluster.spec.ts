import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { compareUtf8, forever, type PointBatch } from '#model';
import type { Placed } from '#stores';
import {
  describeOnServers,
  eventStoreContract,
  type EventStoreUnderTest,
  ownGenerations,
  Random,
  seriesStoreContract,
  type SeriesStoreUnderTest,
  sharedQuestDb,
} from '#testing';
import { openQuestDb, type QuestDb } from './quest-db.js';

/** Shortly after the times that the contracts write. */
const now = 1_700_000_100_000;
const seriesTables = ownGenerations();
const [eventTables, nameTables, oddTables] = [seriesTables + 1, seriesTables + 2, seriesTables + 3];
const everything = { startMs: 0, endMs: 1e15 };

async function open(generation: number): Promise<QuestDb> {
  const db = openQuestDb({ ...sharedQuestDb(), clock: () => now, partitioning: 'MONTH' });
  await db.ensureTables(generation);
  return db;
}

async function dropAndClose(db: QuestDb, generation: number): Promise<void> {
  await db.dropTables(generation);
  await db.close();
}

describeOnServers('QuestDB as a series store', () => {
  const subject = async (): Promise<SeriesStoreUnderTest> => {
    const db = await open(seriesTables);
    const store = db.series(seriesTables);
    // What is not live is in the rollups after a checkpoint.
    const visible = (): Promise<void> => store.checkpoint();
    return { store, visible, crash: () => db.crash().then(subject), close: () => dropAndClose(db, seriesTables) };
  };
  seriesStoreContract(subject, 2);
});

describeOnServers('QuestDB as an event store', () => {
  const subject = async (): Promise<EventStoreUnderTest> => {
    const db = await open(eventTables);
    return { store: db.events(eventTables), crash: () => db.crash().then(subject), close: () => dropAndClose(db, eventTables) };
  };
  eventStoreContract(subject, 5);
});

describeOnServers('A series in QuestDB', () => {
  let db: QuestDb;
  beforeAll(async () => void (db = await open(nameTables)));
  afterAll(() => dropAndClose(db, nameTables));

  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  it(`has any name and any tags (SEED=${seed})`, async () => {
    const random = new Random(seed);
    const metrics = [...new Set(Array.from({ length: 300 }, () => aText(random, 1)))];
    const series = metrics.map((metric, at) => ({
      metric,
      tags: { [aText(random, 0)]: aText(random, 0) },
      timestampMs: Float64Array.of(now),
      value: Float64Array.of(at),
    }));
    const store = db.series(nameTables);
    await store.write([{ partition: 0, offset: 0, value: { orgId: 'o', sourceId: 's', receivedMs: now, series } }], forever);
    await store.flush();
    await expect(store.metricNames('o', 's')).resolves.toEqual(metrics.toSorted(compareUtf8));
    const values = new Map(await store.latest('o', 's', everything));
    expect(metrics.map((metric) => values.get(metric))).toEqual(metrics.map((_, at) => at));
    const kept: string[] = [];
    for await (const { table, row } of db.dump(nameTables)) if (table === 'points') kept.push(row[5] as string);
    expect(kept.toSorted()).toEqual(series.map(({ tags }) => JSON.stringify(Object.entries(tags))).toSorted());
  });
});

describeOnServers('Generations of QuestDB', () => {
  it('are forgotten when three others were asked for since', async () => {
    const db = openQuestDb({ ...sharedQuestDb(), clock: () => now });
    const [first, second] = [db.series(1), db.series(2)];
    db.series(3);
    expect(db.series(1)).toBe(first);
    db.series(4);
    expect(db.series(1)).toBe(first);
    expect(db.series(2)).not.toBe(second);
    await expect(second.checkpoint()).rejects.toMatchObject({ code: 'store_unavailable' });
    await db.close();
  });
});

describeOnServers('A record that QuestDB would change in silence', () => {
  let db: QuestDb;
  beforeAll(async () => void (db = await open(oddTables)));
  afterAll(() => dropAndClose(db, oddTables));

  const aRecord = (some: Partial<PointBatch>, value = 1, timestampMs = now): Placed<PointBatch> => {
    const series = [{ metric: 'm', tags: {}, timestampMs: Float64Array.of(now, timestampMs), value: Float64Array.of(0, value) }];
    return { partition: 0, offset: 1, value: { orgId: 'o', sourceId: 's', receivedMs: now, series, ...some } };
  };
  it.each<[string, Placed<PointBatch>]>([
    ['a value that is not a number', aRecord({}, Number.NaN)],
    ['an infinite value', aRecord({}, -Infinity)],
    ['a time before 1970', aRecord({}, 1, -1)],
    ['a time after 9999', aRecord({}, 1, 253_402_300_800_000)],
    ['half a millisecond', aRecord({}, 1, 0.5)],
    ['no source', aRecord({ sourceId: '' })],
    ['no organization', aRecord({ orgId: '' })],
    ['no metric', aRecord({ series: [{ metric: '', tags: {}, timestampMs: Float64Array.of(now), value: Float64Array.of(1) }] })],
    [
      'fewer values than times',
      aRecord({ series: [{ metric: 'm', tags: {}, timestampMs: Float64Array.of(now), value: Float64Array.of() }] }),
    ],
  ])('is refused as a whole: %s', async (_, record) => {
    const store = db.series(oddTables);
    await expect(store.write([record], forever)).rejects.toThrow(/^a (point|run|batch) /);
    await store.flush();
    await expect(store.latest('o', 's', everything)).resolves.toEqual([]);
  });
});

/** Characters that mean something somewhere. */
const characters = Array.from(' ,=\\"\'\n\r\t\u0001/;{}[]$`%#é\u2028\uFFFD\u{1F600}ab', (character) => character);

function aText(random: Random, least: number): string {
  return Array.from({ length: random.whole(least, 12) }, () => random.pick(characters)).join('');
}
