import type { EventStore, SeriesStore } from '#stores';
import { SqliteEventStore } from './events/event-store.js';
import { SqliteSeriesStore } from './series/series-store.js';
import { closeStoreThreads, endStoreThreads, startStoreThreads } from './store-threads.js';

/** The projections in one file. */
export interface Stores {
  readonly series: SeriesStore;
  readonly events: EventStore;
  /** Closes the file, with nothing left in its write-ahead file. What was not checkpointed may be only in the log. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would. */
  crash(): Promise<void>;
}

/** Opens the file, made if need be. Rejects `store_corrupt` when it is damaged and `store_unavailable` when it cannot be opened. */
export async function openStores(file: string): Promise<Stores> {
  const threads = await startStoreThreads(file);
  try {
    const series = await SqliteSeriesStore.open(threads);
    return {
      series,
      events: new SqliteEventStore(threads.writer, threads.reader),
      close: async () => {
        try {
          await series.close();
        } finally {
          await closeStoreThreads(threads);
        }
      },
      crash: () => {
        series.end();
        return endStoreThreads(threads);
      },
    };
  } catch (cause) {
    await endStoreThreads(threads);
    throw cause;
  }
}
