import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { checkRow, columnsChecksum } from './checksum.js';
import { openStoreForWriting } from './store-file.js';

/** The first moment that is kept, by organization; that of `everyOrganization` holds for all. Boundaries never move back. */
export type KeptSince = ReadonlyMap<string, number>;
export const everyOrganization = '';

/** What has such boundaries: events, and points with all their buckets. Those of points are of organizations only: see `Kept` for that of all. */
export type Bounded = 'events' | 'points';

const table =
  'CREATE TABLE IF NOT EXISTS kept_since(what TEXT, org TEXT, from_ms INT NOT NULL, crc INT NOT NULL, PRIMARY KEY(what, org)) STRICT, WITHOUT ROWID';

export function createBoundaries(db: DatabaseSync): void {
  db.exec(table);
}

/** The first moment that is kept of an organization. */
export const keptSince = (boundaries: KeptSince, orgId: string): number =>
  Math.max(boundaries.get(everyOrganization) ?? 0, boundaries.get(orgId) ?? 0);

interface Row {
  readonly org: string;
  readonly fromMs: number;
  readonly crc: number;
}

/** Makes the function that reads the first moment that is kept of an organization. It throws TelemetryError `store_corrupt`. */
export function keptSinceReader(db: DatabaseSync, what: Bounded): (orgId: string) => number {
  const rows = db.prepare('SELECT org, from_ms AS fromMs, crc FROM kept_since WHERE what = ? AND org IN (?, ?)');
  return (orgId) => keptSince(checked(what, rows.all(what, everyOrganization, orgId)), orgId);
}

/** @throws TelemetryError `store_corrupt`. */
export const readBoundaries = (db: DatabaseSync, what: Bounded): KeptSince =>
  checked(what, db.prepare('SELECT org, from_ms AS fromMs, crc FROM kept_since WHERE what = ?').all(what));

export function writeBoundaries(db: DatabaseSync, what: Bounded, boundaries: KeptSince): void {
  const put = db.prepare('INSERT OR REPLACE INTO kept_since(what, org, from_ms, crc) VALUES (?, ?, ?, ?)');
  for (const [org, fromMs] of boundaries) put.run(what, org, fromMs, columnsChecksum(what, org, fromMs));
}

/**
 * Copies the boundaries of a store into the file of a new store: a log that is read again would bring back what is gone. Of a store that cannot be
 * read nothing is copied.
 */
export function carryBoundaries(old: string, fresh: string): void {
  for (const what of ['events', 'points'] as const) {
    const boundaries = existsSync(old) ? boundariesOf(old, what) : undefined;
    if (!boundaries?.size) continue;
    using db = openStoreForWriting(fresh);
    createBoundaries(db);
    writeBoundaries(db, what, boundaries);
  }
}

function boundariesOf(file: string, what: Bounded): KeptSince | undefined {
  try {
    using db = openStoreForWriting(file);
    return readBoundaries(db, what);
  } catch {
    return undefined;
  }
}

function checked(what: Bounded, rows: readonly unknown[]): KeptSince {
  return new Map(
    (rows as readonly Row[]).map(({ org, fromMs, crc }) => {
      checkRow(`which ${what} are kept`, crc, what, org, fromMs);
      return [org, fromMs];
    }),
  );
}
