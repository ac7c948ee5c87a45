import { crc32 } from 'node:zlib';
import { eventDigest, compareUtf8, tagsKey, type DeviceEvent, type LogEntry } from '#model';

/** An event as it is held for comparing: what orders it, and a checksum of what readers see. */
export interface KeptEvent {
  readonly metric: string;
  readonly timestampMs: number;
  readonly digest: string;
  readonly seen: number;
  place: number;
}

/** The events of one source by brute force, without their values. */
export class EventFold {
  readonly #kept = new Map<string, KeptEvent>();

  add(events: readonly DeviceEvent[]): void {
    for (const event of events) {
      const { metric, timestampMs, place } = event;
      const digest = Buffer.from(eventDigest(event, tagsKey(event.tags))).toString('latin1');
      const key = `${digest}${timestampMs} ${metric}`;
      const known = this.#kept.get(key);
      if (!known) this.#kept.set(key, { metric, timestampMs, place, digest, seen: checksum(event) });
      else known.place = Math.min(known.place, place);
    }
  }

  /** In the order in which the store answers. */
  sorted(): readonly KeptEvent[] {
    return [...this.#kept.values()].toSorted(
      (a, b) => a.timestampMs - b.timestampMs || a.place - b.place || compareUtf8(a.metric, b.metric) || (a.digest < b.digest ? -1 : 1),
    );
  }
}

/** CRC-32 of what readers see of an event. */
export function checksum({ timestampMs, metric, value, tags }: LogEntry): number {
  return crc32(`${timestampMs}\0${metric}\0${tagsKey(tags)}\0${value}`);
}
