import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { intervalMs, type PointBatch } from '#model';
import { Random } from '#testing';
import { StoreThreads } from '../store-threads.js';
import { carryArchives } from './carry.js';
import type { Keep } from './keeper.js';
import { SqliteSeriesStore } from './series-store.js';

const t = 1_700_000_040_000;
const window = { startMs: 0, endMs: 1e15 };

const aBatch = (sourceId: string, metric: string): PointBatch => {
  const random = new Random(metric.length);
  const timestampMs = Float64Array.from({ length: 20_000 }, (_, at) => t + 1000 * at);
  return {
    orgId: 'o',
    sourceId,
    receivedMs: t,
    series: [{ metric, tags: '', timestampMs, value: timestampMs.map(() => random.fraction()) }],
  };
};

describe('a store that was damaged', () => {
  let folder = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'headwater-damage-'));
    await withStore(async (store) => {
      await store.write([{ partition: 0, offset: 0, value: aBatch('s1', 'a') }]);
      await store.checkpoint();
      await store.write([{ partition: 0, offset: 1, value: aBatch('s2', 'b') }]);
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function withStore(use: (store: SqliteSeriesStore) => Promise<unknown>, keep?: Keep): Promise<void> {
    const threads = await new StoreThreads().open({ file: join(folder, 'store.db'), epochs: [] });
    try {
      const store = await SqliteSeriesStore.open(threads.writer, threads.reader, undefined, keep);
      try {
        await use(store);
      } finally {
        await store.close();
      }
    } finally {
      await threads.close();
    }
  }

  const readAll = (): Promise<void> =>
    withStore(async (store) => {
      for (const sourceId of ['s1', 's2']) {
        const query = { orgId: 'o', sourceId, metrics: undefined, window, limit: 100_000 };
        await store.raw(query);
        await store.buckets({ ...query, interval: '1m' });
        await store.buckets({ ...query, interval: '1h' });
      }
    });

  it('is read when it was not', async () => {
    await expect(readAll()).resolves.toBeUndefined();
  });

  it.each([
    ['a block lost', 'DELETE FROM block WHERE rowid = 3'],
    ['the first block of a run lost', 'DELETE FROM block WHERE rowid = 1'],
    ['the last block lost', 'DELETE FROM block WHERE rowid = (SELECT max(rowid) FROM block)'],
    ['the rollup rows lost', 'DELETE FROM block WHERE kind > 0'],
    ['a block changed', 'UPDATE block SET body = zeroblob(length(body)) WHERE rowid = 2'],
    ['a block shortened', 'UPDATE block SET body = substr(body, 1, 20) WHERE rowid = 2'],
    ['a block moved', 'UPDATE block SET time_ms = time_ms - 1 WHERE rowid = 2'],
    ['a block of another run', 'UPDATE block SET body = (SELECT body FROM block WHERE run = 2 AND kind = 0 LIMIT 1) WHERE rowid = 2'],
    ['a run changed', `UPDATE run SET info = replace(info, '"points":20000', '"points":20001')`],
    ['the first run lost', 'DELETE FROM run WHERE id = 1'],
    ['the last run lost', 'DELETE FROM run WHERE id = 2'],
    ['all runs lost', 'DELETE FROM run'],
    ['a metric renamed', `UPDATE metric SET name = 'c' WHERE id = 1`],
    ['a metric lost', 'DELETE FROM metric WHERE id = 1'],
    ['a source renamed', `UPDATE source SET name = 's3' WHERE id = 2`],
    ['a source lost', 'DELETE FROM source WHERE id = 1'],
    ['series of a source changed', `UPDATE source SET series = zeroblob(8) WHERE id = 1`],
  ])('says so: %s', async (_, damage) => {
    const db = new DatabaseSync(join(folder, 'store.db'));
    expect(db.prepare(damage).run().changes).toBeGreaterThan(0);
    db.close();
    await expect(readAll()).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  /** Ten days later its points are gone and their rollups archived. */
  async function archive(): Promise<void> {
    const keep = { raw: intervalMs['1d'], '1m': Infinity, '1h': Infinity, '1d': Infinity };
    await withStore(async (store) => {
      for (const hour of [240, 241]) {
        const value = { orgId: 'o', sourceId: 's1', receivedMs: t + hour * intervalMs['1h'], series: [] };
        await store.write([{ partition: 0, offset: hour, value }]);
      }
      await store.checkpoint();
      await store.settled();
    }, keep);
  }

  it('is read when it was not: archives', async () => {
    await archive();
    await expect(readAll()).resolves.toBeUndefined();
  });

  it.each([
    ['an archive lost', 'DELETE FROM archive WHERE id = (SELECT min(id) FROM archive)'],
    ['all archives lost', 'DELETE FROM archive'],
    ['an archive changed', `UPDATE archive SET info = replace(info, '"merges":0', '"merges":1')`],
    ['what is kept lost', 'DELETE FROM kept'],
    ['what is kept changed', `UPDATE kept SET info = replace(info, '"raw":1', '"raw":2')`],
    ['the blocks of archives lost', 'DELETE FROM block WHERE run < 0'],
    ['a block of an archive changed', 'UPDATE block SET body = zeroblob(length(body)) WHERE run = -1'],
    ['a block of another archive', 'UPDATE block SET body = (SELECT body FROM block WHERE run = -2 LIMIT 1) WHERE run = -1'],
  ])('says so: %s', async (_, damage) => {
    await archive();
    const db = new DatabaseSync(join(folder, 'store.db'));
    expect(db.prepare(damage).run().changes).toBeGreaterThan(0);
    db.close();
    await expect(readAll()).rejects.toMatchObject({ code: 'store_corrupt' });
  });

  it('is not taken over by a rebuild: a block of an archive changed', async () => {
    await archive();
    const file = join(folder, 'store.db');
    const db = new DatabaseSync(file);
    db.exec('UPDATE block SET body = zeroblob(length(body)) WHERE run = -1');
    db.close();
    expect(() => carryArchives(file, join(folder, 'fresh.db'))).toThrow('is damaged, and the old store stands');
  });
});
