import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { forever, type PointBatch } from '#model';
import type { SeriesStore } from '#stores';
import { Random } from '#testing';
import { closeStoreThreads, startStoreThreads } from '../stores.js';
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
      await store.write([{ partition: 0, offset: 0, value: aBatch('s1', 'a') }], forever);
      await store.checkpoint();
      await store.write([{ partition: 0, offset: 1, value: aBatch('s2', 'b') }], forever);
    });
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function withStore(use: (store: SeriesStore) => Promise<unknown>): Promise<void> {
    const threads = await startStoreThreads(join(folder, 'store.db'), []);
    try {
      const store = await SqliteSeriesStore.open(threads.writer, threads.reader);
      try {
        await use(store);
      } finally {
        await store.close();
      }
    } finally {
      await closeStoreThreads(threads);
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
});
