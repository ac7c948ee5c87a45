import { workerData } from 'node:worker_threads';
import { seriesWriter } from './series/writer.js';
import { openStoreForWriting } from './store-file.js';
import { serve } from './worker.js';

const db = openStoreForWriting(workerData as string);

/** The only thread that writes the store's file. */
serve({ ...seriesWriter(db), ready: () => undefined, close: () => db.close() });
