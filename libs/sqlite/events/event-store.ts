import { eachInSteps, eventsSince, stepEntries, tagsOf, type EventBatch, type LogEntry, type Steps, type Window } from '#model';
import { type EventStore, inTurns, type Placed } from '#stores';
import { BoundaryKeeper, type KeptFor, type KeptSince } from '../boundaries.js';
import type { WorkerThread } from '../worker.js';
import type { EventColumns, EventPart, EventQuery } from './event-reader.js';
import { type EventDeletion, eventWrite } from './event-writer.js';

const allTime = { startMs: -Infinity, endMs: Infinity };

/** Events in tables of the store's file, written and read by its two threads. */
export class SqliteEventStore implements EventStore {
  /** Events that came when their time was no longer kept, since the start. */
  late = 0;
  #saved: KeptSince;
  #forgetting: Promise<void> | undefined;

  constructor(
    private readonly writer: WorkerThread,
    private readonly reader: WorkerThread,
    private readonly keeper = new BoundaryKeeper({ ms: Infinity }, new Map()),
  ) {
    this.#saved = keeper.boundaries;
  }

  /** Rejects `store_corrupt` when what is kept is damaged. */
  static async open(writer: WorkerThread, reader: WorkerThread, keep: KeptFor = { ms: Infinity }): Promise<SqliteEventStore> {
    const boundaries = await writer.call<KeptSince>('openEvents');
    const store = new SqliteEventStore(writer, reader, new BoundaryKeeper(keep, boundaries));
    void store.settled();
    return store;
  }

  async write(batches: readonly Placed<EventBatch>[]): Promise<void> {
    const timely = this.#timely(batches);
    let written = 0;
    for (const [at, { offset, value }] of timely.entries()) {
      if (!value.deleted) continue;
      if (at > written) await this.#write(timely.slice(written, at));
      await this.#delete({ orgId: value.orgId, sourceId: value.sourceId, metric: value.deleted.metric, next: offset + 1 });
      written = at + 1;
    }
    await this.#write(written === 0 ? timely : timely.slice(written));
    this.late += countOf(batches) - countOf(timely);
  }

  async checkpoint(): Promise<void> {
    await this.writer.call('checkpointEvents');
    void this.settled();
  }

  /** Resolves when all events that are no longer kept are removed. What fails is tried again after the next checkpoint. */
  settled(): Promise<void> {
    this.#forgetting ??= this.#forget().finally(() => (this.#forgetting = undefined));
    return this.#forgetting;
  }

  window(orgId: string, sourceId: string, window: Window, limit: number, name?: string): Promise<readonly LogEntry[]> {
    return this.#read({ orgId, sourceId, ...window, limit, metric: name ?? null, last: false });
  }

  tail(orgId: string, sourceId: string, count: number, name?: string, window: Window = allTime): Promise<readonly LogEntry[]> {
    return this.#read({ orgId, sourceId, ...window, limit: count, metric: name ?? null, last: true });
  }

  async #write(batches: readonly Placed<EventBatch>[]): Promise<void> {
    const { boundaries } = this.keeper;
    await this.writer.call('writeEvents', eventWrite(batches, boundaries === this.#saved ? undefined : boundaries));
    this.#saved = boundaries;
  }

  /** In parts, between which the thread does what others ask. A deletion that ends in between comes again, as its record is not done with. */
  async #delete(deletion: EventDeletion): Promise<void> {
    while (await this.writer.call<boolean>('deleteEvents', deletion));
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

  /** Without the events that come too late. A batch may be left with none: the store has it all the same. */
  #timely(batches: readonly Placed<EventBatch>[]): readonly Placed<EventBatch>[] {
    for (const { value } of batches) this.keeper.note(value.receivedMs);
    if (this.keeper.boundaries.size === 0) return batches;
    return batches.map((batch) => ({ ...batch, value: eventsSince(batch.value, this.keeper.from(batch.value.orgId)) }));
  }

  async #forget(): Promise<void> {
    if (this.#saved.size === 0) return;
    try {
      while (await this.writer.call<boolean>('forgetEvents'));
    } catch {
      // A full disk is reported by the writes, and a damaged file by the reads that meet it.
    }
  }
}

const countOf = (batches: readonly Placed<EventBatch>[]): number => batches.reduce((sum, { value }) => sum + value.events.length, 0);

function entriesOf({ timestampMs, metric, value, tags }: EventColumns): Steps<LogEntry[]> {
  const entry = (time: number, at: number): LogEntry => ({
    timestampMs: time,
    metric: metric[at]!,
    value: value[at]!,
    tags: tagsOf(tags[at]!),
  });
  return eachInSteps(timestampMs, entry, stepEntries);
}
