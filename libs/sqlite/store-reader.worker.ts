import { workerData } from 'node:worker_threads';
import { seriesReader } from './series/reader.js';
import { openStoreForReading } from './store-file.js';
import { serve } from './worker.js';

const db = openStoreForReading(workerData as string);

/** Reads the store's file with its own connection, so that a long read delays no write. */
serve({ ...seriesReader(db), ready: () => undefined, close: () => db.close() });
