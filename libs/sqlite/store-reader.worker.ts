import { workerData } from 'node:worker_threads';
import { eventReader } from './events/event-reader.js';
import { seriesReader } from './series/reader.js';
import { openStoreForReading } from './store-file.js';
import { withStoreFailures } from './store-failure.js';
import { serve } from './worker.js';

/** Reads the store's file with its own connection, so that a long read delays no write. */
serve(
  withStoreFailures(() => {
    const db = openStoreForReading(workerData as string);
    return { ...seriesReader(db), ...eventReader(db), ready: () => undefined, close: () => db.close() };
  }),
);
