import type { EventStore, SeriesStore } from '#stores';
import type { KeptFor } from './boundaries.js';
import { SqliteEventStore } from './events/event-store.js';
import type { Keeper } from './log/positions.js';
import type { Directory } from './series/directory.js';
import { type Keep, keepAll } from './series/keeper.js';
import { SqliteSeriesStore } from './series/series-store.js';
import type { StoreFile, StoreThreads } from './store-threads.js';

/** The projections in one file. */
export interface Stores {
  readonly series: SeriesStore;
  readonly events: EventStore;
  readonly positions: Keeper;
  /** Why one of its threads has ended, in one line; undefined while both live. */
  readonly ended: () => string | undefined;
  /** The names of the series store. */
  readonly directory: Directory;
  /** Resolves once all names of series were looked at; rejects `store_corrupt` when some are damaged or lost. */
  readonly checked: Promise<void>;
  /** Points that came when their time was no longer kept, since it was opened. */
  readonly latePoints: () => number;
  /** The same of events. */
  readonly lateEvents: () => number;
  /** Closes the file and empties its write-ahead file. Records that were not checkpointed may be only in the log. */
  close(): Promise<void>;
  /** Ends the threads where they stand, as the death of the process would. */
  crash(): Promise<void>;
}

/**
 * Opens the file, made if need be, as a store of the log with these epochs. It keeps whatever it has where it is not told otherwise. Rejects `store_corrupt`
 * when it is damaged and `store_unavailable` when it cannot be opened.
 */
export async function openStores(
  threads: StoreThreads,
  file: StoreFile,
  keep: Keep = keepAll,
  keepEvents?: KeptFor,
  lessPoints?: KeptFor['less'],
): Promise<Stores> {
  try {
    await threads.open(file);
    const series = await SqliteSeriesStore.open(threads.writer, threads.reader, undefined, keep, lessPoints);
    const events = await SqliteEventStore.open(threads.writer, threads.reader, keepEvents);
    return {
      series,
      latePoints: () => series.late,
      lateEvents: () => events.late,
      directory: series.directory,
      checked: series.checked,
      events,
      positions: {
        of: (group) => threads.writer.call('positions.of', group),
        move: (positions) => threads.writer.call('positions.move', positions),
        settle: () => threads.writer.call('positions.settle'),
      },
      ended: () => threads.ended,
      close: async () => {
        try {
          await series.close();
        } finally {
          await threads.close();
        }
      },
      crash: () => {
        series.end();
        return threads.end();
      },
    };
  } catch (cause) {
    await threads.end();
    throw cause;
  }
}
