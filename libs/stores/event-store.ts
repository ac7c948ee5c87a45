import type { EventBatch, Lease, LogEntry, Window } from '#model';
import type { Placed } from './series-store.js';

/**
 * Events by source. An event is identified by (org, source, metric, time, value, tags, ordinal), so one that comes again changes
 * nothing. Entries are ordered by (time, receive time, place in the body, metric, digest of the rest), so that events of one millisecond come
 * as they arrived; of an event that came in several bodies the least (receive time, place) counts, so that a copy moves nothing and no order
 * of processing gives another answer.
 */
export interface EventStore {
  /**
   * Takes batches in log order; resolves when reads see the events. What came before a deletion is gone then. Rejects `store_unavailable`, also once
   * the lease is lost: the batches come again.
   */
  write(batches: readonly Placed<EventBatch>[], lease: Lease): Promise<void>;
  /** Resolves when all that was written before the call survives a crash. */
  checkpoint(): Promise<void>;

  /** The first `limit` entries of the window, oldest first; `name` keeps one metric only. */
  window(orgId: string, sourceId: string, window: Window, limit: number, name?: string): Promise<readonly LogEntry[]>;
  /** The last `count` entries of the window, or of all time without one; oldest first. */
  tail(orgId: string, sourceId: string, count: number, name?: string, window?: Window): Promise<readonly LogEntry[]>;
}
