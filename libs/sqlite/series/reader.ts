import type { DatabaseSync } from 'node:sqlite';
import type { Handlers } from '../worker.js';

/** What the store's reader thread does for the series store. */
export function seriesReader(_db: DatabaseSync): Handlers {
  return {};
}
