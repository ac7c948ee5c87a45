import { crc32 } from 'node:zlib';
import { eventDigest, compareUtf8, tagsKey, type EventBatch, type LogEntry } from '#model';

/** An event as it is held for comparing: what orders it, and a checksum of what readers see. */
export interface KeptEvent {
  readonly metric: string;
  readonly timestampMs: number;
  readonly digest: string;
  readonly seen: number;
  receivedMs: number;
  place: number;
}

/** The events of one source by brute force, without their values. */
export class EventFold {
  readonly #kept = new Map<string, KeptEvent>();

  add({ receivedMs, events }: Pick<EventBatch, 'receivedMs' | 'events'>): void {
    for (const event of events) {
      const { metric, timestampMs, place } = event;
      const digest = Buffer.from(eventDigest(event, tagsKey(event.tags))).toString('latin1');
      const key = `${digest}${timestampMs} ${metric}`;
      const known = this.#kept.get(key);
      if (!known) this.#kept.set(key, { metric, timestampMs, receivedMs, place, digest, seen: checksum(event) });
      else if (receivedMs < known.receivedMs || (receivedMs === known.receivedMs && place < known.place))
        Object.assign(known, { receivedMs, place });
    }
  }

  /** In the order in which the store answers. */
  sorted(): readonly KeptEvent[] {
    return [...this.#kept.values()].toSorted(
      (a, b) =>
        a.timestampMs - b.timestampMs ||
        a.receivedMs - b.receivedMs ||
        a.place - b.place ||
        compareUtf8(a.metric, b.metric) ||
        (a.digest < b.digest ? -1 : 1),
    );
  }
}

/** CRC-32 of what readers see of an event. */
export function checksum({ timestampMs, metric, value, tags }: LogEntry): number {
  return crc32(`${timestampMs}\0${metric}\0${tagsKey(tags)}\0${value}`);
}
