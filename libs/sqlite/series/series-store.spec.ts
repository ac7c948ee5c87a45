import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { forever } from '#model';
import { seriesStoreContract, type SeriesStoreUnderTest } from '#testing';
import { closeStoreThreads, endStoreThreads, startStoreThreads } from '../stores.js';
import type { ArenaSize } from './arena.js';
import { SqliteSeriesStore } from './series-store.js';

async function openIn(folder: string, size?: ArenaSize): Promise<SeriesStoreUnderTest> {
  const threads = await startStoreThreads(join(folder, 'store.db'), []);
  const store = await SqliteSeriesStore.open(threads.writer, threads.reader, size);
  return {
    store,
    settled: async () => {
      await store.checkpoint();
      await store.settled();
    },
    crash: async () => {
      store.end();
      await endStoreThreads(threads);
      return openIn(folder, size);
    },
    close: async () => {
      store.end();
      await closeStoreThreads(threads);
      await rm(folder, { recursive: true });
    },
  };
}

const newFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'headwater-series-'));

describe('SqliteSeriesStore', () => {
  seriesStoreContract(async () => openIn(await newFolder()));

  it('remembers the place of a record behind a checkpoint, so that readers never see an older value again', async () => {
    let subject = await openIn(await newFolder());
    const timestampMs = Float64Array.of(1_700_000_000_000);
    const [batch, later] = [1, 2].map((value, offset) => {
      const series = [{ metric: 'm', tags: {}, timestampMs, value: Float64Array.of(value) }];
      return { partition: 0, offset, value: { orgId: 'org', sourceId: 's', receivedMs: timestampMs[0]!, series } };
    });
    await subject.store.write([batch!, later!], forever);
    await subject.store.checkpoint();
    subject = await subject.crash();
    await subject.store.write([batch!], forever);
    await expect(subject.store.latest('org', 's', { startMs: 0, endMs: 1e15 })).resolves.toEqual([['m', 2]]);
    await subject.close();
  });

  it('writes the names of many new sources before it takes more', async () => {
    let subject = await openIn(await newFolder());
    const column = Float64Array.of(1);
    const batches = Array.from({ length: 40_000 }, (_, offset) => {
      const series = [{ metric: 'm', tags: {}, timestampMs: column, value: column }];
      return { partition: 0, offset, value: { orgId: 'org', sourceId: `s${offset}`, receivedMs: 1, series } };
    });
    await subject.store.write(batches, forever);
    subject = await subject.crash();
    await expect(subject.store.metricNames('org', 's0')).resolves.toEqual(['m']);
    await expect(subject.store.metricNames('org', 's39999')).resolves.toEqual([]);
    await subject.close();
  });
});

describe('SqliteSeriesStore with arenas that are soon full', () => {
  seriesStoreContract(async () => openIn(await newFolder(), { points: 97, pieces: 13 }));
});
