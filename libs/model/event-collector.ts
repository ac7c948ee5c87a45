import type { DeviceEvent, EventBatch } from './point.js';
import { tagsKey } from './tags.js';

/** Turns the events of one body, in body order, into one batch for each source, and counts those that are equal. */
export class EventCollector {
  readonly #sources = new Map<string, DeviceEvent[]>();
  readonly #equals = new Map<string, number>();

  add(sourceId: string, event: Omit<DeviceEvent, 'ordinal'>): void {
    const key = JSON.stringify([sourceId, event.metric, event.timestampMs, event.value, event.isJson, tagsKey(event.tags)]);
    const ordinal = this.#equals.get(key) ?? 0;
    this.#equals.set(key, ordinal + 1);
    const events = this.#sources.get(sourceId);
    if (events) events.push({ ...event, ordinal });
    else this.#sources.set(sourceId, [{ ...event, ordinal }]);
  }

  /** Sources in the order of their first event. */
  batches(orgId: string, receivedMs: number): EventBatch[] {
    return [...this.#sources].map(([sourceId, events]) => ({ orgId, sourceId, receivedMs, origin: 'source', events }));
  }
}
