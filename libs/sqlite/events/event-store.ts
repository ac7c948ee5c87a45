import { eachInSteps, stepEntries, tagsOf, type EventBatch, type LogEntry, type Steps, type Window } from '#model';
import { type EventStore, inTurns, type Placed } from '#stores';
import type { WorkerThread } from '../worker.js';
import type { EventColumns, EventPart, EventQuery } from './event-reader.js';
import { eventWrite } from './event-writer.js';

const allTime = { startMs: -Infinity, endMs: Infinity };

/** Events in tables of the store's file, written and read by its two threads. */
export class SqliteEventStore implements EventStore {
  constructor(
    private readonly writer: WorkerThread,
    private readonly reader: WorkerThread,
  ) {}

  write(batches: readonly Placed<EventBatch>[]): Promise<void> {
    return this.writer.call('writeEvents', eventWrite(batches));
  }

  checkpoint(): Promise<void> {
    return this.writer.call('checkpointEvents');
  }

  window(orgId: string, sourceId: string, window: Window, limit: number, name?: string): Promise<readonly LogEntry[]> {
    return this.#read({ orgId, sourceId, ...window, limit, metric: name ?? null, last: false });
  }

  tail(orgId: string, sourceId: string, count: number, name?: string, window: Window = allTime): Promise<readonly LogEntry[]> {
    return this.#read({ orgId, sourceId, ...window, limit: count, metric: name ?? null, last: true });
  }

  async #read(query: EventQuery): Promise<readonly LogEntry[]> {
    const entries: LogEntry[] = [];
    let part = await this.reader.call<EventPart>('readEvents', query);
    for (;;) {
      entries.push(...(await inTurns(entriesOf(part))));
      if (part.answer === undefined) return entries;
      part = await this.reader.call<EventPart>('restOfEvents', part.answer);
    }
  }
}

function entriesOf({ timestampMs, metric, value, tags }: EventColumns): Steps<LogEntry[]> {
  const entry = (time: number, at: number): LogEntry => ({
    timestampMs: time,
    metric: metric[at]!,
    value: value[at]!,
    tags: tagsOf(tags[at]!),
  });
  return eachInSteps(timestampMs, entry, stepEntries);
}
