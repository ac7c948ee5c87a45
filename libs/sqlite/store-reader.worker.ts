import { eventReader } from './events/event-reader.js';
import { seriesReader } from './series/reader.js';
import { openStoreForReading } from './store-file.js';
import { withStoreFailures } from './store-failure.js';
import { serve } from './worker.js';

/** Reads the store's file with its own connection, so that a long read delays no write. */
serve(
  withStoreFailures((file: string) => {
    const db = openStoreForReading(file);
    return { ...seriesReader(db), ...eventReader(db), close: () => db.close() };
  }),
);
