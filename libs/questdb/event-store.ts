import { type EventBatch, type LogEntry, TelemetryError, type Window } from '#model';
import type { EventStore, Placed } from '#stores';
import type { EventReads } from './event-reads.js';
import type { EventWriter } from './event-writer.js';

const allTime = { startMs: 0, endMs: Infinity };

/** Events in a table of one generation. */
export class QuestDbEventStore implements EventStore {
  #ended = false;

  constructor(
    private readonly writer: EventWriter,
    private readonly reads: EventReads,
    /** Resolves when the table may be written to. Rejects `store_unavailable`. */
    private readonly writable: () => Promise<unknown>,
  ) {}

  /** What waits and is under way, bytes. */
  get heldBytes(): number {
    return this.writer.heldBytes;
  }

  /** Why rows do not come through; undefined while they do, and when there are none. */
  get trouble(): string | undefined {
    return this.writer.trouble;
  }

  async write(batches: readonly Placed<EventBatch>[]): Promise<void> {
    if (this.#ended) throw new TelemetryError('store_unavailable', 'The store is closed.');
    await this.writable();
    await this.writer.write(batches);
  }

  /** What readers see is in the log of the database. */
  checkpoint(): Promise<void> {
    return Promise.resolve();
  }

  window(orgId: string, sourceId: string, window: Window, limit: number, name?: string): Promise<readonly LogEntry[]> {
    return this.reads.entries({ orgId, sourceId, window, limit, name, last: false });
  }

  tail(orgId: string, sourceId: string, count: number, name?: string): Promise<readonly LogEntry[]> {
    return this.reads.entries({ orgId, sourceId, window: allTime, limit: count, name, last: true });
  }

  async end(): Promise<void> {
    this.#ended = true;
    await this.writer.end();
  }
}
