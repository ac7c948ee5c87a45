import { workerData } from 'node:worker_threads';
import { eventWriter } from './events/event-writer.js';
import { seriesWriter } from './series/writer.js';
import { openStoreForWriting } from './store-file.js';
import { withStoreFailures } from './store-failure.js';
import { serve } from './worker.js';

/** The only thread that writes the store's file. */
serve(
  withStoreFailures(() => {
    const db = openStoreForWriting(workerData as string);
    return { ...seriesWriter(db), ...eventWriter(db), ready: () => undefined, close: () => db.close() };
  }),
);
