import type { DatabaseSync } from 'node:sqlite';
import type { Handlers } from '../worker.js';

/** What the store's writer thread does for the series store. */
export function seriesWriter(_db: DatabaseSync): Handlers {
  return {};
}
