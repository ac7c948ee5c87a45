import type { EventStore, SeriesStore } from '#stores';
import { SqliteEventStore } from './events/event-store.js';
import { SqliteSeriesStore } from './series/series-store.js';
import type { Epoch } from './log/epochs.js';
import type { Keeper } from './log/positions.js';
import { closeStoreThreads, endStoreThreads, startStoreThreads } from './store-threads.js';

/** The projections in one file. */
export interface Stores {
  readonly series: SeriesStore;
  readonly events: EventStore;
  readonly positions: Keeper;
  /** Closes the file, with nothing left in its write-ahead file. What was not checkpointed may be only in the log. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would. */
  crash(): Promise<void>;
}

/**
 * Opens the file, made if need be, as a store of the log with these epochs. Rejects `store_corrupt` when it is damaged and `store_unavailable` when it
 * cannot be opened.
 */
export async function openStores(file: string, epochs: readonly Epoch[]): Promise<Stores> {
  const threads = await startStoreThreads(file, epochs);
  try {
    const series = await SqliteSeriesStore.open(threads);
    return {
      series,
      events: new SqliteEventStore(threads.writer, threads.reader),
      positions: {
        of: (group) => threads.writer.call('positions.of', group),
        move: (positions) => threads.writer.call('positions.move', positions),
      },
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
