import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { checkRow, columnsChecksum } from '../checksum.js';
import { openStoreForWriting } from '../store-file.js';

/** The first moment from which events are kept, by organization; that of `everyOrganization` holds for all. Boundaries never move back. */
export type EventBoundaries = ReadonlyMap<string, number>;
export const everyOrganization = '';

const table = 'CREATE TABLE IF NOT EXISTS event_kept(org TEXT PRIMARY KEY, from_ms INT NOT NULL, crc INT NOT NULL) STRICT';

export function createEventBoundaries(db: DatabaseSync): void {
  db.exec(table);
}

/** The first moment from which events of an organization are kept. */
export const eventsFrom = (boundaries: EventBoundaries, orgId: string): number =>
  Math.max(boundaries.get(everyOrganization) ?? 0, boundaries.get(orgId) ?? 0);

/** Makes the function that reads the boundaries that hold for an organization. It throws TelemetryError `store_corrupt`. */
export function eventsFromReader(db: DatabaseSync): (orgId: string) => number {
  const rows = db.prepare('SELECT org, from_ms AS fromMs, crc FROM event_kept WHERE org IN (?, ?)');
  return (orgId) => eventsFrom(checked(rows.all(everyOrganization, orgId)), orgId);
}

/** @throws TelemetryError `store_corrupt`. */
export const readEventBoundaries = (db: DatabaseSync): EventBoundaries =>
  checked(db.prepare('SELECT org, from_ms AS fromMs, crc FROM event_kept').all());

export function writeEventBoundaries(db: DatabaseSync, boundaries: EventBoundaries): void {
  const put = db.prepare('INSERT OR REPLACE INTO event_kept(org, from_ms, crc) VALUES (?, ?, ?)');
  for (const [org, fromMs] of boundaries) put.run(org, fromMs, columnsChecksum(org, fromMs));
}

/**
 * Copies the boundaries of a store into the file of a new store: a log that is read again would bring back what is gone. Of a store that cannot be
 * read nothing is copied.
 */
export function carryEventBoundaries(old: string, fresh: string): void {
  const boundaries = existsSync(old) ? boundariesOf(old) : undefined;
  if (!boundaries?.size) return;
  using db = openStoreForWriting(fresh);
  createEventBoundaries(db);
  writeEventBoundaries(db, boundaries);
}

function boundariesOf(file: string): EventBoundaries | undefined {
  try {
    using db = openStoreForWriting(file);
    return readEventBoundaries(db);
  } catch {
    return undefined;
  }
}

function checked(rows: readonly unknown[]): EventBoundaries {
  return new Map(
    (rows as readonly { readonly org: string; readonly fromMs: number; readonly crc: number }[]).map(({ org, fromMs, crc }) => {
      checkRow('which events are kept', crc, org, fromMs);
      return [org, fromMs];
    }),
  );
}
