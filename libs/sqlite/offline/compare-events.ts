import { crc32 } from 'node:zlib';
import { compareUtf8, eventDigest, TelemetryError, tagsKey, type EventBatch, type LogEntry, type Tags } from '#model';
import type { EventStore } from '#stores';
import type { SourceCensus } from './census.js';
import type { Findings } from './findings.js';

/** An event as it is held for comparing: what orders it, and a checksum of what readers see. */
interface KeptEvent {
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
      const digest = Buffer.from(eventDigest(event)).toString('latin1');
      const key = `${digest}${timestampMs} ${metric}`;
      const known = this.#kept.get(key);
      if (!known) this.#kept.set(key, { metric, timestampMs, receivedMs, place, digest, seen: checksum(event, event.tags) });
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

const pageEntries = 5_000;
const valueCharacters = 80;
/** So far is an entry searched among the expected ones. Behind a longer gap, entries count as missing and as too many. */
const lookAhead = 1_000;

/**
 * Compares the log of a source, entry by entry. Returns how many entries it should have.
 * @param isWhole whether the store can have no others.
 */
export async function compareEvents(
  store: EventStore,
  source: SourceCensus,
  fold: EventFold,
  findings: Findings,
  isWhole: boolean,
): Promise<number> {
  const expected = fold.sorted();
  const { orgId, sourceId } = source;
  const missing = (some: readonly KeptEvent[]): void => {
    for (const { metric, timestampMs } of some) {
      findings.add({ what: 'events', orgId, sourceId, metric, timestampMs, expected: 'an entry', found: 'nothing' });
    }
  };
  let at = 0;
  try {
    if (!isWhole) {
      missing(await notFound(entriesOf(store, source), expected));
      return expected.length;
    }
    for await (const entry of entriesOf(store, source)) {
      const place = placeOf(checksum(entry, tagsKey(entry.tags)), expected, at);
      const { metric, timestampMs } = entry;
      if (place < 0) findings.add({ what: 'events', orgId, sourceId, metric, timestampMs, expected: 'nothing', found: entryText(entry) });
      else {
        missing(expected.slice(at, place));
        at = place + 1;
      }
    }
    missing(expected.slice(at));
  } catch (cause) {
    if (!(cause instanceof TelemetryError) || cause.code !== 'store_corrupt') throw cause;
    findings.add({ what: 'damage', orgId, sourceId, expected: `${expected.length} entries`, found: cause.message });
  }
  return expected.length;
}

/** The expected entries that are not among those of a store, in whatever order: one that came before, too, stands where it came first. */
async function notFound(entries: AsyncIterable<LogEntry>, expected: readonly KeptEvent[]): Promise<readonly KeptEvent[]> {
  const left = Map.groupBy(expected, ({ seen }) => seen);
  for await (const entry of entries) left.get(checksum(entry, tagsKey(entry.tags)))?.pop();
  return [...left.values()].flat();
}

/** The index of a found entry among the expected ones, from `from` on; -1 when it is not there, or too far away. */
function placeOf(seen: number, expected: readonly KeptEvent[], from: number): number {
  const end = Math.min(expected.length, from + lookAhead);
  for (let at = from; at < end; at++) if (expected[at]!.seen === seen) return at;
  return -1;
}

/** All entries, page after page. A page begins at the time at which the one before ended, as there may be more of that time. */
async function* entriesOf(store: EventStore, { orgId, sourceId }: SourceCensus): AsyncGenerator<LogEntry> {
  let [startMs, skip, limit] = [0, 0, pageEntries];
  for (;;) {
    const page = await store.window(orgId, sourceId, { startMs, endMs: 1e16 }, limit);
    yield* page.slice(skip);
    if (page.length < limit) return;
    const endMs = page.at(-1)!.timestampMs;
    skip = page.length - page.findIndex(({ timestampMs }) => timestampMs === endMs);
    if (endMs === startMs) limit *= 2;
    startMs = endMs;
  }
}

const entryText = ({ value }: LogEntry): string => (value.length > valueCharacters ? `${value.slice(0, valueCharacters)}…` : value);

/** CRC-32 of what readers see of an event. */
function checksum({ timestampMs, metric, value }: Pick<LogEntry, 'timestampMs' | 'metric' | 'value'>, tags: Tags): number {
  return crc32(`${timestampMs}\0${metric}\0${tags}\0${value}`);
}
