import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { eventCheck, type EventRow } from '../events/event-writer.js';
import { Block, type BlockRow } from '../series/block.js';

/** Every place in the store's file that is not as it was written, in words. */
export function* damagedPlaces(db: DatabaseSync): Generator<string> {
  for (const scan of [treeDamage, blockDamage, eventDamage]) {
    try {
      yield* scan(db);
    } catch (cause) {
      yield (cause as Error).message;
    }
  }
}

const maxTreeFaults = 100;

function* treeDamage(db: DatabaseSync): Generator<string> {
  for (const { integrity_check: fault } of db.prepare(`PRAGMA integrity_check(${maxTreeFaults})`).iterate()) {
    if (fault !== 'ok') yield String(fault);
  }
}

function* blockDamage(db: DatabaseSync): Generator<string> {
  const rows = db.prepare('SELECT run, kind, key, time_ms AS timeMs, number, body FROM block').iterate();
  for (const { run, kind, key, timeMs, number, body } of rows as Iterable<unknown> as Iterable<BlockRow & BlockRow['last']>) {
    const fault = blockFault({ run, kind, number, last: { key, timeMs }, body });
    if (fault) yield fault;
  }
}

function blockFault(row: BlockRow): string | undefined {
  try {
    return new Block(row).bytes.length > 0 ? undefined : `A block of run ${row.run} is empty.`;
  } catch (cause) {
    if (cause instanceof TelemetryError) return cause.message;
    throw cause;
  }
}

function* eventDamage(db: DatabaseSync): Generator<string> {
  const rows = db.prepare(`
    SELECT event.id, org AS orgId, source.source AS sourceId, name AS metric, time AS timestampMs, received AS receivedMs, place, tags, value, checksum
    FROM event LEFT JOIN event_source AS source ON source.id = event.source LEFT JOIN event_metric AS metric ON metric.id = event.metric`);
  for (const row of rows.iterate() as Iterable<unknown> as Iterable<EventRow & { id: number; checksum: number }>) {
    if (eventCheck(row) !== row.checksum) yield `Event row ${row.id} is damaged.`;
  }
}
