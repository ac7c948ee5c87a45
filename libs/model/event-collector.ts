import type { DeviceEvent, EventBatch } from './point.js';

/** Turns the events of one body, in body order, into one batch for each source, and counts those that are equal. */
export class EventCollector {
  readonly #sources = new Map<string, DeviceEvent[]>();
  readonly #equals = new Map<string, number>();

  add(sourceId: string, event: Omit<DeviceEvent, 'ordinal'>): void {
    const { metric, timestampMs, value, isJson, tags, place } = event;
    // Only a value may have a NUL in it, and it stands at the end.
    const key = `${sourceId}\0${metric}\0${timestampMs}\0${isJson}\0${tags}\0${value}`;
    const ordinal = this.#equals.get(key) ?? 0;
    this.#equals.set(key, ordinal + 1);
    const events = this.#sources.get(sourceId);
    const kept = { metric, timestampMs, value, isJson, tags, place, ordinal };
    if (events) events.push(kept);
    else this.#sources.set(sourceId, [kept]);
  }

  /** Sources in the order of their first event. */
  batches(orgId: string, receivedMs: number): EventBatch[] {
    return [...this.#sources].map(([sourceId, events]) => ({ orgId, sourceId, receivedMs, origin: 'source', events }));
  }
}
