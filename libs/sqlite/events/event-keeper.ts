import { keptFrom, type EventBatch } from '#model';
import type { Placed } from '#stores';
import { AgreedTime } from '../agreed-time.js';
import { type EventBoundaries, eventsFrom, everyOrganization } from './event-boundaries.js';

/** The events of a batch at or after a time. */
export function eventsSince<T extends Pick<EventBatch, 'events'>>(batch: T, fromMs: number): T {
  if (fromMs === 0 || batch.events.every(({ timestampMs }) => timestampMs >= fromMs)) return batch;
  return { ...batch, events: batch.events.filter(({ timestampMs }) => timestampMs >= fromMs) };
}

/** Decides from when on events are taken. */
export class EventKeeper {
  readonly #time = new AgreedTime();

  /** @param keepMs how long events are kept; `Infinity` is for ever. */
  constructor(
    private readonly keepMs: number,
    public boundaries: EventBoundaries,
  ) {}

  /** Without the events that come too late. A batch may be left with none: the store has it all the same. */
  timely(batches: readonly Placed<EventBatch>[]): readonly Placed<EventBatch>[] {
    for (const { value } of batches) this.#note(value.receivedMs);
    if (this.boundaries.size === 0) return batches;
    return batches.map((batch) => ({ ...batch, value: eventsSince(batch.value, eventsFrom(this.boundaries, batch.value.orgId)) }));
  }

  /** A record was received at this time. */
  #note(receivedMs: number): void {
    const beforeMs = this.boundaries.get(everyOrganization) ?? 0;
    const asOfMs = this.#time.after(receivedMs, keptFrom(this.keepMs, receivedMs) > beforeMs);
    if (asOfMs === undefined) return;
    this.boundaries = new Map(this.boundaries).set(everyOrganization, keptFrom(this.keepMs, asOfMs));
    this.#time.restart();
  }
}
