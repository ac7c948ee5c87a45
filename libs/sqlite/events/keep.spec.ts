import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { DeviceEvent, EventBatch } from '#model';
import type { Placed } from '#stores';
import { anEventHistory, EventModel, Random } from '#testing';
import { BoundaryKeeper, keptSince, readBoundaries } from '../boundaries.js';
import { StoreThreads } from '../store-threads.js';
import { SqliteEventStore } from './event-store.js';

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const beginMs = Date.UTC(2026, 0, 1);
const everything = { startMs: 0, endMs: 1e15 };

const aRecord = (receivedMs: number, events: readonly DeviceEvent[] = [], offset = 0, orgId = 'org'): Placed<EventBatch> => ({
  partition: 0,
  offset,
  value: { orgId, sourceId: 's', receivedMs, origin: 'source', events },
});
const anEvent = (timestampMs: number, value = ''): DeviceEvent => ({
  metric: 'door',
  timestampMs,
  value,
  isJson: false,
  tags: '',
  place: 0,
  ordinal: 0,
});

describe('events are kept for two days', () => {
  it.each<[string, readonly number[], number]>([
    ['nothing has come', [], 0],
    ['one record alone decides nothing', [240], 0],
    ['an hour decides, and whole days go', [263, 264], 8],
    ['a day later one more goes', [240, 241, 265, 266], 9],
    ['day after day', [240, 241, 288, 289, 312, 313], 11],
    ['the clock was ahead for less than an hour', [240, 241, 9e5, 9e5 + 0.9, 242], 8],
    ['the clock was behind', [240, 241, 1, 2, 3], 8],
  ])('%s: %j', (_, hours, day) => {
    const keeper = new BoundaryKeeper({ ms: 2 * dayMs }, new Map());
    for (const hour of hours) keeper.note(hour * hourMs);
    expect(keeper.from('org')).toBe(day * dayMs);
  });
});

it.each<[string, Readonly<Record<string, number>>, readonly number[], readonly number[]]>([
  ['less than all', { org: 1 }, [240, 241], [9, 8]],
  ['more than all', { org: 3 }, [240, 241], [8, 8]],
  ['others less', { other: 1 }, [240, 241], [8, 8]],
  ['less, and the hour is not over', { org: 1 }, [240], [0, 0]],
  ['less, day after day', { org: 1 }, [240, 241, 264, 265], [10, 9]],
])('events of all are kept for two days, and an organization has %s: %j, %j', (_, days, hours, expected) => {
  const less = () => Object.entries(days).map(([orgId, its]) => [orgId, its * dayMs] as const);
  const keeper = new BoundaryKeeper({ ms: 2 * dayMs, less }, new Map());
  for (const hour of hours) keeper.note(hour * hourMs);
  expect(['org', 'nobody'].map((orgId) => keeper.from(orgId) / dayMs)).toEqual(expected);
});

describe('a store that keeps events for two days', () => {
  let folder: string;
  let file: string;
  let threads: StoreThreads;
  let store: SqliteEventStore;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-keep-events-'));
    file = join(folder, 'store.db');
    await open();
  });
  afterEach(async () => {
    await threads.end();
    await rm(folder, { recursive: true });
  });

  const open = async (): Promise<void> => {
    threads = await new StoreThreads().open({ file, epochs: [] });
    const less = (): readonly (readonly [string, number])[] => [['short', dayMs]];
    store = await SqliteEventStore.open(threads.writer, threads.reader, { ms: 2 * dayMs, less });
  };
  const crash = async (): Promise<void> => {
    await threads.end();
    await open();
  };
  const ask = (sql: string): number => {
    using db = new DatabaseSync(file, { readOnly: true });
    return Object.values(db.prepare(sql).get()!)[0] as number;
  };
  const boundary = (): number => {
    using db = new DatabaseSync(file, { readOnly: true });
    return keptSince(readBoundaries(db, 'events'), 'org');
  };
  const times = async (): Promise<number[]> => (await store.window('org', 's', everything, 10_000)).map(({ timestampMs }) => timestampMs);

  const old = Array.from({ length: 1000 }, (_, at) => anEvent(beginMs + at));
  const kept = [anEvent(beginMs + 8 * dayMs), anEvent(beginMs + 9 * dayMs)];
  const moves = [aRecord(beginMs + 10 * dayMs), aRecord(beginMs + 10 * dayMs + hourMs)];

  it.each([
    [0, 1002],
    [1, 746],
    [3, 234],
    [9, 2],
  ])(
    'answers the same when it ends after %d steps of removing what is old, with %d events left, and then removes the rest',
    async (steps, left) => {
      await store.write([aRecord(beginMs, [...old, ...kept]), aRecord(beginMs + hourMs)]);
      expect(await times()).toHaveLength(1002);
      await store.write(moves);
      for (let step = 0; step < steps; step++) await threads.writer.call('forgetEvents');
      expect(ask('SELECT count(*) FROM event')).toBe(left);
      expect(await times()).toEqual(kept.map(({ timestampMs }) => timestampMs));
      await crash();
      expect(await times()).toEqual(kept.map(({ timestampMs }) => timestampMs));
      await store.settled();
      expect(ask('SELECT count(*) FROM event')).toBe(2);
    },
  );

  it('keeps those of an organization for one day', async () => {
    const days = [6, 8.5, 9.5].map((day) => anEvent(beginMs + day * dayMs));
    const both = ['org', 'short'].map((orgId, offset) => aRecord(beginMs, days, offset, orgId));
    await store.write([...both, aRecord(beginMs + hourMs), ...moves]);
    const shown = async (orgId: string): Promise<number[]> =>
      (await store.window(orgId, 's', everything, 10)).map(({ timestampMs }) => (timestampMs - beginMs) / dayMs);
    for (const again of [false, true]) {
      if (again) await crash();
      expect([await shown('org'), await shown('short')]).toEqual([[8.5, 9.5], [9.5]]);
      await store.settled();
      expect(ask('SELECT count(*) FROM event')).toBe(3);
      await store.write(both);
    }
    expect(store.late).toBe(3);
  });

  it('takes no event that comes too late, and counts each once', async () => {
    await store.write(moves);
    const late = aRecord(beginMs + 10 * dayMs + hourMs, [anEvent(beginMs), ...kept, anEvent(beginMs + 8 * dayMs - 1)]);
    await store.write([late]);
    expect(store.late).toBe(2);
    expect(await times()).toEqual(kept.map(({ timestampMs }) => timestampMs));
    expect(ask('SELECT count(*) FROM event')).toBe(2);
  });

  it('says that it is damaged when its boundary is not what was written', async () => {
    await store.write(moves);
    {
      using db = new DatabaseSync(file);
      db.exec('UPDATE kept_since SET from_ms = from_ms - 1');
    }
    await expect(times()).rejects.toMatchObject({ code: 'store_corrupt' });
    await threads.end();
    await expect(open()).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('uses the room of what is gone again', async () => {
    const pages: number[] = [];
    for (let day = 0; day < 30; day++) {
      const events = Array.from({ length: 2000 }, (_, at) => anEvent(beginMs + day * dayMs + at, `${at}`.padEnd(100)));
      await store.write([aRecord(beginMs + day * dayMs, events), aRecord(beginMs + day * dayMs + hourMs)]);
      await store.settled();
      pages.push(ask('PRAGMA page_count'));
    }
    expect(Math.max(...pages.slice(10))).toBeLessThan(1.1 * Math.max(...pages.slice(0, 10)));
  });

  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 31));
  it(`answers as if everything from its boundary on were kept, whenever it crashes, SEED=${seed}`, async () => {
    for (let at = 0; at < Number(process.env['HISTORIES'] ?? 3); at++) {
      const random = new Random(seed + at);
      const { sourceIds, deliveries } = anEventHistory(random, 'org');
      const [firstMs] = deliveries.flatMap(({ value }) => value.events.map(({ timestampMs }) => timestampMs)).toSorted((a, b) => a - b);
      let nowMs = Math.max(beginMs, boundary() + 2 * dayMs);
      const startMs = nowMs - 2 * dayMs;
      const records = deliveries.flatMap(({ value }) => {
        const events = value.events.map((event) => ({ ...event, timestampMs: startMs + ((event.timestampMs - firstMs!) * dayMs) / 2 }));
        const leapMs = random.chance(0.3) ? random.whole(0, 2 * dayMs) : 0;
        const silent = leapMs > 0 ? [aRecord(nowMs + leapMs), aRecord(nowMs + leapMs + hourMs)] : [];
        nowMs = silent.at(-1)?.value.receivedMs ?? nowMs;
        const source = { orgId: `org${at}`, receivedMs: nowMs };
        return [...silent, { partition: 0, offset: 0, value: { ...value, ...source, events } }];
      });
      const compare = async (written: readonly Placed<EventBatch>[]): Promise<void> => {
        const fromMs = boundary();
        for (const sourceId of sourceIds) {
          const its = written.filter(({ value }) => value.sourceId === sourceId && value.orgId === `org${at}`);
          const model = new EventModel(
            its.map((one) => ({
              ...one,
              value: { ...one.value, events: one.value.events.filter(({ timestampMs }) => timestampMs >= fromMs) },
            })),
          );
          const all = await store.window(`org${at}`, sourceId, everything, 10_000);
          expect(model.grouped(all)).toEqual(model.groups);
          expect(await store.tail(`org${at}`, sourceId, 3)).toEqual(all.slice(-3));
          expect(await store.window(`org${at}`, sourceId, everything, 2)).toEqual(all.slice(0, 2));
          const named = all.filter(({ metric }) => metric === 'a');
          expect(await store.window(`org${at}`, sourceId, everything, 3, 'a')).toEqual(named.slice(0, 3));
        }
      };
      for (let next = 0; next < records.length;) {
        const some = records.slice(next, next + random.whole(1, 4));
        await store.write(some);
        next += some.length;
        if (random.chance(0.3)) await threads.writer.call('forgetEvents');
        if (random.chance(0.2)) {
          await crash();
          await store.write(records.slice(random.whole(0, next), next));
        }
        if (random.chance(0.5)) await compare(records.slice(0, next));
      }
      await store.settled();
      await compare(records);
      expect(ask(`SELECT count(*) FROM event WHERE time < ${boundary()}`)).toBe(0);
    }
  });
});
