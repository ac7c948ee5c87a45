import type { DatabaseSync } from 'node:sqlite';
import { eventDigest, tagsKey, type EventBatch } from '#model';
import type { StoreOrigin } from '../store-origin.js';
import { makeDurable, unsynced } from '../transaction.js';
import type { Handlers } from '../worker.js';
import { eventCheck } from './event-identity.js';
import { createEventTables } from './event-tables.js';
import { NameIds } from './name-ids.js';

export interface EventWrite {
  readonly batches: readonly EventBatch[];
  /** The offset after the last batch's. */
  readonly next: number;
}

/** What the store's writing thread does for events. */
export function eventWriter(db: DatabaseSync, origin: StoreOrigin): Handlers {
  createEventTables(db);
  const writer = new EventWriter(db, origin);
  return {
    writeEvents: (request: EventWrite) => writer.write(request),
    checkpointEvents: () => makeDurable(db),
  };
}

/**
 * Puts events in, each once. Of an event that comes from several bodies the least (receive time, place) is kept: the same answer whatever the
 * order of processing.
 */
export class EventWriter {
  readonly #sources: NameIds;
  readonly #metrics: NameIds;
  readonly #put;

  constructor(
    private readonly db: DatabaseSync,
    private readonly origin: StoreOrigin,
  ) {
    this.#sources = new NameIds(db, 'event_source', ['org', 'source']);
    this.#metrics = new NameIds(db, 'event_metric', ['name']);
    this.#put = db.prepare(`
      INSERT INTO event(source, metric, time, received, place, digest, checksum, tags, value) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      ON CONFLICT(source, metric, time, digest) DO UPDATE
      SET received = excluded.received, place = excluded.place, checksum = excluded.checksum
      WHERE (excluded.received, excluded.place) < (received, place)`);
  }

  /** All of the batches or, when it throws, none. They survive the end of the process at once, a power cut after `makeDurable`. */
  write({ batches, next }: EventWrite): void {
    try {
      unsynced(this.db, () => {
        this.origin.took(next);
        for (const batch of batches) this.#writeBatch(batch);
      });
    } catch (cause) {
      this.#sources.forget();
      this.#metrics.forget();
      throw cause;
    }
  }

  #writeBatch({ orgId, sourceId, receivedMs, events }: EventBatch): void {
    const source = this.#sources.idOf(orgId, sourceId);
    for (const event of events) {
      const { metric, timestampMs, place, value } = event;
      const tags = tagsKey(event.tags);
      const checksum = eventCheck({ orgId, sourceId, metric, timestampMs, receivedMs, place, tags, value });
      const digest = eventDigest(event, tags);
      this.#put.run(source, this.#metrics.idOf(metric), timestampMs, receivedMs, place, digest, checksum, tags, value);
    }
  }
}
