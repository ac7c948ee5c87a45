import { TelemetryError, type LogEntry } from '#model';
import type { EventStore } from '#stores';
import type { SourceCensus } from './census.js';
import { checksum, type EventFold, type KeptEvent } from './event-fold.js';
import type { Findings } from './findings.js';

const pageEntries = 5_000;
const valueCharacters = 80;
/** A longer gap is told as entries that are missing and others that are too many. */
const lookAhead = 1_000;

/** Compares the log of a source, entry by entry. Returns how many entries it should have. */
export async function compareEvents(store: EventStore, source: SourceCensus, fold: EventFold, findings: Findings): Promise<number> {
  const expected = fold.sorted();
  const { orgId, sourceId } = source;
  const missing = (from: number, to: number): void => {
    for (const { metric, timestampMs } of expected.slice(from, to)) {
      findings.add({ what: 'events', orgId, sourceId, metric, timestampMs, expected: 'an entry', found: 'nothing' });
    }
  };
  let at = 0;
  try {
    for await (const entry of entriesOf(store, source)) {
      const place = placeOf(checksum(entry), expected, at);
      const { metric, timestampMs } = entry;
      if (place < 0) findings.add({ what: 'events', orgId, sourceId, metric, timestampMs, expected: 'nothing', found: entryText(entry) });
      else {
        missing(at, place);
        at = place + 1;
      }
    }
    missing(at, expected.length);
  } catch (cause) {
    if (!(cause instanceof TelemetryError) || cause.code !== 'store_corrupt') throw cause;
    findings.add({ what: 'damage', orgId, sourceId, expected: `${expected.length} entries`, found: cause.message });
  }
  return expected.length;
}

/** Where an entry that was found is expected, not far from where it should come; -1 when it is not. */
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
