import type { Sender } from '@questdb/nodejs-client';
import { type EventBatch, eventDigest, eventsSince, type Lease, type LogEntry, maxTimestampMs, TelemetryError, type Window } from '#model';
import type { EventStore, Placed } from '#stores';
import type { Client } from './client.js';
import { afterDeletions, type Deletions } from './deletions.js';
import { Delivery, Refused, Signal, type WritePath } from './delivery.js';
import type { EventReads } from './event-reads.js';
import type { Kept } from './kept.js';
import type { Layout } from './tables.js';

/** Rows of one commit; a single record may have more. */
const maxRows = 5000;
const maxBatches = 64;
/** Memory of events that wait or are in flight, about. */
const maxBytes = 64 << 20;
const lookMs = 500;
const allTime = { startMs: 0, endMs: Infinity };

interface Waiting {
  readonly delivery: Delivery;
  readonly batches: readonly EventBatch[];
  readonly bytes: number;
  readonly written: PromiseWithResolvers<void>;
}

/** What a writer of events needs besides its way to QuestDB. */
export interface EventParts {
  /** How the table is made, as soon as it may be written to. Rejects `store_unavailable`. */
  readonly layout: () => Promise<Layout>;
  readonly kept: Kept;
  readonly deletions: Deletions;
}

/**
 * Events in a table of one generation. Those that come while a commit is in flight are the next commit; their order does not matter. They are
 * sent by QuestDB's own client, not as lines of ours.
 */
export class QuestDbEventStore implements EventStore {
  #waiting: Waiting[] = [];
  #running: Promise<void> | undefined;
  #heldBytes = 0;
  readonly #changed = new Signal();
  #delivery: Delivery | undefined;
  #ended = false;

  constructor(
    private readonly client: Client,
    private readonly path: WritePath,
    private readonly reads: EventReads,
    private readonly parts: EventParts,
  ) {}

  /** Why rows do not come through; undefined while they do, and when there are none. */
  get trouble(): string | undefined {
    return this.#running && this.path.outage.reason;
  }

  /** What waits and is under way, about. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  /** Resolves when readers see the events, but for those from before what is kept, which are only counted. Rejects `store_unavailable`, and with another Error for events that the store cannot hold. */
  async write(batches: readonly Placed<EventBatch>[], lease: Lease): Promise<void> {
    const delivery = this.#under(lease);
    await this.parts.layout();
    for (const { value } of batches) check(value);
    const { deletions, left } = afterDeletions(batches, withoutMetrics);
    if (deletions.length > 0) await this.#delete(deletions, delivery);
    if (left.length > 0) await this.#add(left, delivery);
  }

  /** What waits under an earlier lease is dropped: the next owner of its partitions may have deleted what it belongs to. */
  #under(lease: Lease): Delivery {
    if (this.#ended) throw new TelemetryError('store_unavailable', 'The store is closed.');
    if (this.#delivery?.lease === lease) return this.#delivery;
    if (!lease.held()) throw new TelemetryError('store_unavailable', 'These records have gone to another member of the group.');
    this.#delivery?.end();
    return (this.#delivery = new Delivery(this.path, lease, this.#changed));
  }

  #delete(records: readonly Placed<EventBatch>[], delivery: Delivery): Promise<void> {
    return this.parts.deletions.ofEvents(records, delivery, () => this.path.outage.check());
  }

  async #add(batches: readonly Placed<EventBatch>[], delivery: Delivery): Promise<void> {
    const { events: fromMs } = await this.parts.kept.fresh();
    const values = batches.map(({ value }) => eventsSince(value, fromMs));
    this.path.figures.late.events += countOf(batches.map(({ value }) => value)) - countOf(values);
    const bytes = values.reduce((sum, batch) => sum + bytesOf(batch), 0);
    await this.#hold(bytes, delivery);
    const written = Promise.withResolvers<void>();
    this.#waiting.push({ delivery, batches: values, bytes, written });
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
    return written.promise;
  }

  /** What readers see is in the log of the database. */
  checkpoint(): Promise<void> {
    return Promise.resolve();
  }

  window(orgId: string, sourceId: string, window: Window, limit: number, name?: string): Promise<readonly LogEntry[]> {
    return this.reads.entries({ orgId, sourceId, window, limit, name, last: false });
  }

  tail(orgId: string, sourceId: string, count: number, name?: string, window: Window = allTime): Promise<readonly LogEntry[]> {
    return this.reads.entries({ orgId, sourceId, window, limit: count, name, last: true });
  }

  /** Resolves when these may wait too, and counts them. Rejects `store_unavailable` when that is not foreseeable. */
  async #hold(bytes: number, delivery: Delivery): Promise<void> {
    while (this.#heldBytes >= maxBytes) {
      delivery.check();
      this.path.outage.check();
      await this.#changed.wait(lookMs);
    }
    this.#heldBytes += bytes;
  }

  /** Takes no more. */
  async end(): Promise<void> {
    this.#ended = true;
    this.#delivery?.end();
    await this.#running;
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      const [{ delivery }] = this.#waiting as [Waiting];
      const group = this.#waiting.filter((one) => one.delivery === delivery);
      this.#waiting = this.#waiting.filter((one) => one.delivery !== delivery);
      await this.#write(group, delivery);
      this.#heldBytes -= group.reduce((sum, { bytes }) => sum + bytes, 0);
      this.#changed.ring();
    }
  }

  /** A row that is refused is the fault of one call, which is found by sending each by itself. */
  async #write(group: readonly Waiting[], delivery: Delivery): Promise<void> {
    try {
      await this.#commit(
        group.flatMap(({ batches }) => batches),
        delivery,
      );
      for (const { written } of group) written.resolve();
    } catch (cause) {
      if (cause instanceof Refused && group.length > 1) for (const one of group) await this.#write([one], delivery);
      else for (const { written } of group) written.reject(cause);
    }
  }

  async #commit(batches: readonly EventBatch[], delivery: Delivery): Promise<void> {
    const giveUp = (): void => this.path.outage.check();
    for (const some of bySize(batches)) {
      await delivery.untilItWorks(
        () =>
          this.client.send(
            (sender) => this.#build(sender, some),
            () => delivery.check(),
          ),
        giveUp,
      );
    }
    await delivery.visible(giveUp);
    this.path.figures.rows.events += countOf(batches);
  }

  async #build(sender: Sender, batches: readonly EventBatch[]): Promise<void> {
    const { arrivalsAreKeys } = await this.parts.layout();
    for (const { orgId, sourceId, receivedMs, events } of batches) {
      for (const event of events) {
        sender.table(this.path.tables[0]!).symbol('org', orgId).symbol('source', sourceId).symbol('name', event.metric);
        sender.stringColumn('value', event.value).stringColumn('tags', event.tags);
        sender.stringColumn('digest', eventDigest(event).toString('hex')).intColumn('place', event.place);
        if (arrivalsAreKeys) sender.intColumn('received', receivedMs);
        await sender.at(event.timestampMs, 'ms');
      }
    }
  }
}

const withoutMetrics = (batch: Placed<EventBatch>, isGone: (metric: string) => boolean): Placed<EventBatch> => ({
  ...batch,
  value: { ...batch.value, events: batch.value.events.filter(({ metric }) => !isGone(metric)) },
});

const countOf = (batches: readonly EventBatch[]): number => batches.reduce((sum, { events }) => sum + events.length, 0);

/** What a batch takes in memory, about. */
function bytesOf({ events }: EventBatch): number {
  const rowBytes = 200;
  return events.reduce((sum, { metric, value }) => sum + rowBytes + metric.length + value.length, 0);
}

function check({ orgId, sourceId, events }: EventBatch): void {
  if (orgId === '' || sourceId === '') throw new Error('a batch of events names no organization or no source');
  for (const { metric, timestampMs } of events) {
    if (metric === '') throw new Error('an event names no metric');
    if (!Number.isInteger(timestampMs) || timestampMs < 0 || timestampMs > maxTimestampMs)
      throw new Error('an event has a time outside of 1970 to 9999');
  }
}

function bySize(batches: readonly EventBatch[]): EventBatch[][] {
  const groups: EventBatch[][] = [];
  let rows = 0;
  for (const batch of batches) {
    if (groups.length === 0 || groups.at(-1)!.length === maxBatches || rows + batch.events.length > maxRows) {
      groups.push([]);
      rows = 0;
    }
    groups.at(-1)!.push(batch);
    rows += batch.events.length;
  }
  return groups;
}
