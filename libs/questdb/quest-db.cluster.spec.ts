import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it, jest } from '@jest/globals';
import { compareUtf8, type EventBatch, forever, type Lease, OperatorError, tagsKey, type PointBatch } from '#model';
import type { Placed } from '#stores';
import {
  describeOnServers,
  eventStoreContract,
  type EventStoreUnderTest,
  generationStoreContract,
  ownGenerations,
  Random,
  seriesStoreContract,
  type SeriesStoreUnderTest,
  sharedQuestDb,
} from '#testing';
import { NotAccepted } from './delivery.js';
import { HttpSink } from './http-sink.js';
import { openQuestDb, type QuestDb } from './quest-db.js';
import { Sql } from './sql.js';
import type { Partitioning } from './tables.js';

/** Shortly after the times that the contracts write. */
const now = 1_700_000_100_000;
const seriesTables = ownGenerations();
const [eventTables, nameTables, oddTables, madeTables, pointTables, deletionTables, cutTables, contractTables] = [
  1, 2, 3, 4, 5, 6, 7, 8,
].map((more) => seriesTables + more) as Eight;
type Eight = [number, number, number, number, number, number, number, number];
const everything = { startMs: 0, endMs: 1e15 };

async function open(generation: number): Promise<QuestDb> {
  const db = openQuestDb({ ...sharedQuestDb(), clock: () => now, partitioning: 'MONTH' });
  await db.ensure(generation);
  return db;
}

async function dropAndClose(db: QuestDb, generation: number): Promise<void> {
  await db.drop(generation);
  await db.close();
}

/** Asks again while the server that all share is too busy to answer. What is asked in vain for long, or answered wrongly, stays so. */
function patient<T extends object>(store: T): T {
  const again = async (ask: () => Promise<unknown>, tries = 4): Promise<unknown> => {
    try {
      return await ask();
    } catch (error) {
      if (tries === 0 || (error as { code?: string }).code !== 'store_unavailable') throw error;
      await pause(1000);
      return again(ask, tries - 1);
    }
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (...args: unknown[]) => again(async () => Reflect.apply(value, target, args)) : value;
    },
  });
}

describeOnServers('QuestDB as a series store', () => {
  const subject = async (): Promise<SeriesStoreUnderTest> => {
    const db = await open(seriesTables);
    const store = patient(db.open(seriesTables).series);
    // What is not live is in the rollups after a checkpoint.
    const visible = (): Promise<void> => store.checkpoint();
    return { store, visible, settled: visible, crash: () => db.crash().then(subject), close: () => dropAndClose(db, seriesTables) };
  };
  // 10,000 days, which take QuestDB a minute, are a row of `npm run test:faults`.
  seriesStoreContract(subject, 2, 1_000);
});

describeOnServers('QuestDB as an event store', () => {
  const subject = async (): Promise<EventStoreUnderTest> => {
    const db = await open(eventTables);
    return {
      store: patient(db.open(eventTables).events),
      crash: () => db.crash().then(subject),
      close: () => dropAndClose(db, eventTables),
    };
  };
  eventStoreContract(subject, 5);
});

describeOnServers('QuestDB as a generation store', () => {
  const another = (): QuestDb => openQuestDb({ ...sharedQuestDb(), clock: () => now, partitioning: 'MONTH' });
  let sql: Sql;
  beforeAll(() => void (sql = new Sql(sharedQuestDb().pgUrl)));
  afterAll(() => sql.close());
  const published = async (): Promise<string[]> => {
    const rows = await sql.rows<[string]>('SELECT DISTINCT source FROM points');
    return rows.map(([source]) => source);
  };
  generationStoreContract(() => ({ store: another(), firstNumber: contractTables, another, published }));
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
      tags: tagsKey({ [aText(random, 0)]: aText(random, 0) }),
      timestampMs: Float64Array.of(now),
      value: Float64Array.of(at),
    }));
    const store = db.open(nameTables).series;
    await store.write([{ partition: 0, offset: 0, value: { orgId: 'o', sourceId: 's', receivedMs: now, series } }], forever);
    await store.flush();
    await expect(store.metricNames('o', 's')).resolves.toEqual(metrics.toSorted(compareUtf8));
    const values = new Map(await store.latest('o', 's', everything));
    expect(metrics.map((metric) => values.get(metric))).toEqual(metrics.map((_, at) => at));
    const kept: string[] = [];
    for await (const { what, row } of db.rows(nameTables)) if (what === 'raw') kept.push(row[4] as string);
    expect(kept.toSorted()).toEqual(series.map(({ tags }) => tags).toSorted());
  });
});

describeOnServers('A point without tags', () => {
  it('is one row however often it comes: in one commit, in several, in those that are applied together, in several partitions', async () => {
    const generation = pointTables;
    const db = await open(generation);
    const sql = new Sql(sharedQuestDb().pgUrl);
    const times = [0, 1, 2, 40, 41].map((days) => now - days * 86_400_000);
    const table = `points_g${generation}`;
    const body = (value: number): string =>
      times.map((timestampMs) => `${table},org=o,source=s,metric=m value=${value} ${timestampMs}\n`).join('');
    const send = async (...bodies: readonly string[]): Promise<void> => {
      const answer = await fetch(`${sharedQuestDb().httpUrl}/write?precision=ms`, { method: 'POST', body: bodies.join('') });
      expect(answer.status).toBe(204);
    };
    const shown = (): Promise<unknown> => sql.rows(`SELECT wait_wal_table('${table}')`);
    await send(body(1), body(2));
    await shown();
    await send(body(3));
    await shown();
    for (let value = 4; value < 30; value++) await send(body(value), `${table},org=o,source=s,metric=m,tags=x value=${value} ${now}\n`);
    await shown();
    const rows = await sql.rows(`SELECT ts::long / 1000, tags, value FROM ${table} ORDER BY ts, tags::varchar`);
    expect(rows).toEqual([...times.toReversed().map((timestampMs) => [timestampMs, null, 29]), [now, 'x', 29]]);
    await sql.close();
    await dropAndClose(db, generation);
  });
});

describeOnServers('A body whose lease is lost while it is being sent', () => {
  it('leaves no row, whichever look finds it lost: nor does one that lacks its last byte alone', async () => {
    const db = await open(cutTables);
    const sql = new Sql(sharedQuestDb().pgUrl);
    const table = `points_g${cutTables}`;
    const send = async (value: number, lease: Lease): Promise<void> => {
      const sink = new HttpSink(sharedQuestDb().httpUrl);
      const rows = ['m', 'n'].map((metric) => Buffer.from(`${table},org=o,source=s,metric=${metric} value=${value} ${now + value}\n`));
      await sink.send(rows, lease).finally(() => sink.close());
    };
    // The first look is before the head, and the next ones before each piece: the first row, the second one, and its last byte.
    for (const looks of [0, 1, 2, 3]) {
      let left = looks;
      await expect(send(looks, { held: () => left-- > 0 })).rejects.toBeInstanceOf(NotAccepted);
    }
    await send(4, forever);
    await sql.rows(`SELECT wait_wal_table('${table}')`);
    expect(await sql.rows(`SELECT metric, value FROM ${table} ORDER BY metric`)).toEqual([
      ['m', 4],
      ['n', 4],
    ]);
    await sql.close();
    await dropAndClose(db, cutTables);
  });
});

describeOnServers('A deletion in QuestDB', () => {
  const generation = deletionTables;
  let db: QuestDb;
  let sql: Sql;
  beforeAll(async () => {
    db = await open(generation);
    sql = new Sql(sharedQuestDb().pgUrl);
  });
  afterAll(async () => {
    await sql.close();
    await dropAndClose(db, generation);
  });

  const head = { orgId: 'o', receivedMs: now };
  const aRun = (value: number): PointBatch['series'] => [
    { metric: 'm', tags: '', timestampMs: Float64Array.of(now - value, now - 86_400_000), value: Float64Array.of(value, value) },
  ];
  const anEvent = { metric: 'e', timestampMs: now, isJson: false, tags: '', place: 0, ordinal: 0 };
  const records = <V extends object>(sourceId: string, bodies: readonly V[]): Placed<V & typeof head & { sourceId: string }>[] =>
    bodies.map((body, offset) => ({ partition: 1, offset, value: { ...head, sourceId, ...body } }));
  const pointsOf = (sourceId: string): Placed<PointBatch>[] =>
    records<Omit<PointBatch, keyof typeof head | 'sourceId'>>(sourceId, [
      { series: aRun(1) },
      { series: [], deleted: { metric: null } },
      { series: aRun(2) },
    ]);
  const eventsOf = (sourceId: string): Placed<EventBatch>[] =>
    records<Omit<EventBatch, keyof typeof head | 'sourceId'>>(sourceId, [
      { origin: 'source', events: [{ ...anEvent, value: 'before' }] },
      { origin: 'service', events: [], deleted: { metric: null } },
      { origin: 'source', events: [{ ...anEvent, value: 'after' }] },
    ]);
  const known = async (sourceId: string): Promise<unknown> => {
    const { series, events } = db.open(generation);
    const query = { orgId: 'o', sourceId, metrics: undefined, window: everything, limit: 9 };
    const raw = await series.raw(query);
    const days = await series.buckets({ ...query, interval: '1d' });
    return {
      values: raw.series.flatMap(({ value }) => [...value]),
      counts: days.series.flatMap(({ count }) => [...count]),
      events: (await events.tail('o', sourceId, 9)).map(({ value }) => value),
    };
  };
  const after = { values: [2, 2], counts: [1, 1], events: ['after'] };

  it.each([
    ['before it has begun', 1, 0],
    ['before it is committed', 2, 0],
    ['once rows from behind it are there', 3, 0],
    ['once it is committed itself', 3, 2],
  ])('is obeyed once by a processor that dies %s', async (name, taken, committed) => {
    const [points, events] = [pointsOf(name), eventsOf(name)];
    const dying = openQuestDb({ ...sharedQuestDb(), clock: () => now, partitioning: 'MONTH' });
    const its = dying.open(generation);
    for (const record of points.slice(0, taken)) await its.series.write([record], forever);
    await its.series.flush();
    for (const record of events.slice(0, taken)) await its.events.write([record], forever);
    await dying.crash();
    const { series, events: again } = db.open(generation);
    const lease: Lease = { held: () => true };
    await series.write(points.slice(committed), lease);
    await series.checkpoint();
    await again.write(events.slice(committed), lease);
    await expect(known(name)).resolves.toEqual(after);
  });

  it('is obeyed too where a record before it is refused, so that all come again one by one', async () => {
    const { series } = db.open(generation);
    const lease: Lease = { held: () => true };
    const run = { metric: '', tags: '', timestampMs: Float64Array.of(now), value: Float64Array.of(1) };
    const [bad] = records('bad', [{ series: [run] }]);
    const good = pointsOf('beside').map((record) => ({ ...record, offset: record.offset + 1 }));
    await expect(series.write([bad!, ...good], lease)).rejects.toThrow('no metric');
    for (const record of good) await series.write([record], lease);
    await series.checkpoint();
    await expect(known('beside')).resolves.toMatchObject({ values: [2, 2], counts: [1, 1] });
  });

  it('takes the values from the tables', async () => {
    const { series, events } = db.open(generation);
    const lease: Lease = { held: () => true };
    for (const record of pointsOf('erased')) await series.write([record], lease);
    await series.checkpoint();
    for (const record of eventsOf('erased')) await events.write([record], lease);
    const values = (table: string, columns: string): Promise<readonly unknown[]> =>
      sql.rows(`SELECT DISTINCT ${columns} FROM ${table}_g${generation} WHERE source = 'erased' AND org IS NULL`);
    await expect(values('points', 'value')).resolves.toEqual([[null]]);
    for (const level of ['1m', '1h', '1d'])
      await expect(values(`rollup_${level}`, 'min, max, sum, count')).resolves.toEqual([[null, null, null, null]]);
    await expect(values('events', 'value, tags, digest')).resolves.toEqual([[null, null, null]]);
  });

  it('and events of a lease that is lost are not written any more', async () => {
    const { events } = db.open(generation);
    let held = true;
    const lost: Lease = { held: () => held };
    await events.write(eventsOf('lost').slice(0, 1), lost);
    held = false;
    for (const record of eventsOf('lost').slice(1))
      await expect(events.write([record], lost)).rejects.toMatchObject({ code: 'store_unavailable' });
    await expect(known('lost')).resolves.toMatchObject({ events: ['before'] });
  });
});

describeOnServers('Long answers that arrive while the event loop is held', () => {
  it('are parsed in parts, as many in one turn of the event loop as there is time for', async () => {
    const sql = new Sql(sharedQuestDb().pgUrl, 2);
    let [rows, all, most] = [0, 0, 0];
    const beganMs = performance.now();
    // Some hundred rows take all the time there is.
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => beganMs + all / 100);
    const turn = (): void => {
      most = Math.max(most, rows);
      rows = 0;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    const take = (): void => {
      rows++;
      if (all++ === 0) for (const endMs = Date.now() + 100; Date.now() < endMs;);
    };
    const text = `SELECT x, 'a row of fifty bytes, or nearly' FROM long_sequence(30000)`;
    await Promise.all([sql.each(text, [], take), sql.each(text, [], take)]);
    clearImmediate(next);
    clock.mockRestore();
    await sql.close();
    expect(all).toBe(60_000);
    // One part each, of 64 kB.
    expect(most).toBeLessThan(4000);
  });
});

describeOnServers('Tables that are there', () => {
  const generation = madeTables;
  let sql: Sql;
  beforeEach(async () => {
    sql = new Sql(sharedQuestDb().pgUrl);
    const db = await open(generation);
    await db.close();
  });
  afterEach(async () => {
    const db = openQuestDb({ ...sharedQuestDb(), clock: () => now });
    await dropAndClose(db, generation);
    await sql.close();
  });

  const ensured = async (partitioning: Partitioning): Promise<void> => {
    const db = openQuestDb({ ...sharedQuestDb(), clock: () => now, partitioning });
    try {
      await db.ensure(generation);
    } finally {
      await db.close();
    }
  };
  const points = `points_g${generation}`;

  it('and as they would be made are left as they are', () => expect(ensured('MONTH')).resolves.toBeUndefined());

  it.each<[string, Partitioning, readonly string[], readonly string[]]>([
    [
      'cut in another way',
      'WEEK',
      [],
      [
        `QuestDB's table ${points} is partitioned by MONTH, not by WEEK: set HEADWATER_QUESTDB_PARTITION back`,
        `QuestDB's table rollup_1m_g${generation} is partitioned by MONTH`,
        `QuestDB's table rollup_1h_g${generation} is partitioned by YEAR, not by MONTH`,
        `QuestDB's table events_g${generation} is partitioned`,
      ],
    ],
    [
      'of other columns',
      'MONTH',
      [`ALTER TABLE ${points} ADD COLUMN more INT`],
      [`QuestDB's table ${points} has the columns ts TIMESTAMP,`],
    ],
    ['without an index', 'MONTH', [`ALTER TABLE ${points} ALTER COLUMN source DROP INDEX`], [`QuestDB's table ${points} has the columns`]],
    [
      'of other keys',
      'MONTH',
      [`ALTER TABLE ${points} DEDUP ENABLE UPSERT KEYS(ts, org)`],
      [`QuestDB's table ${points} has the keys ts, org, not`],
    ],
    ['of no keys', 'MONTH', [`ALTER TABLE ${points} DEDUP DISABLE`], [`QuestDB's table ${points} has the keys of no column, not`]],
  ])('and %s are refused with what to do', async (_, partitioning, changes, sentences) => {
    await sql.run(changes);
    await sql.rows(`SELECT wait_wal_table('${points}')`);
    const error = await ensured(partitioning).catch((cause: unknown) => cause);
    expect(error).toBeInstanceOf(OperatorError);
    const told = (error as Error).message.split('\n');
    expect(told).toEqual(sentences.map((sentence) => expect.stringContaining(sentence)));
    for (const sentence of told) expect(sentence).toContain('run `headwater rebuild`, which makes new tables.');
  });
});

describeOnServers('A record that QuestDB would change in silence', () => {
  let db: QuestDb;
  beforeAll(async () => void (db = await open(oddTables)));
  afterAll(() => dropAndClose(db, oddTables));

  const aRecord = (some: Partial<PointBatch>, value = 1, timestampMs = now): Placed<PointBatch> => {
    const series = [{ metric: 'm', tags: '', timestampMs: Float64Array.of(now, timestampMs), value: Float64Array.of(0, value) }];
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
    ['no metric', aRecord({ series: [{ metric: '', tags: '', timestampMs: Float64Array.of(now), value: Float64Array.of(1) }] })],
    [
      'fewer values than times',
      aRecord({ series: [{ metric: 'm', tags: '', timestampMs: Float64Array.of(now), value: Float64Array.of() }] }),
    ],
  ])('is refused as a whole: %s', async (_, record) => {
    const store = db.open(oddTables).series;
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
