import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe } from '@jest/globals';
import { seriesStoreContract, type SeriesStoreUnderTest } from '#testing';
import { closeStoreThreads, endStoreThreads, startStoreThreads } from '../store-threads.js';
import type { ArenaSize } from './arena.js';
import { SqliteSeriesStore } from './series-store.js';

async function openIn(folder: string, size?: ArenaSize): Promise<SeriesStoreUnderTest> {
  const threads = await startStoreThreads(join(folder, 'store.db'));
  const store = await SqliteSeriesStore.open(threads, size);
  return {
    store,
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
});

describe('SqliteSeriesStore with arenas that are soon full', () => {
  seriesStoreContract(async () => openIn(await newFolder(), { points: 97, pieces: 13 }));
});
