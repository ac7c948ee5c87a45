import type { DatabaseSync } from 'node:sqlite';
import { intervalMs, keptFrom } from '#model';
import { AgreedTime } from '#stores';
import { checkRow, columnsChecksum } from './checksum.js';

const dayMs = intervalMs['1d'];

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

function checked(what: Bounded, rows: readonly unknown[]): KeptSince {
  return new Map(
    (rows as readonly Row[]).map(({ org, fromMs, crc }) => {
      checkRow(`which ${what} are kept`, crc, what, org, fromMs);
      return [org, fromMs];
    }),
  );
}

/** How long something is kept, in milliseconds; `Infinity` is for ever. */
export interface KeptFor {
  readonly ms: number;
  /** The organizations of which it is kept for less. */
  readonly less?: () => Iterable<readonly [orgId: string, keepMs: number]>;
}

/** Decides from when on something is kept. */
export class BoundaryKeeper {
  readonly #time = new AgreedTime();
  /** The time by which the boundaries were reckoned last, since the start. */
  #asOfMs = -Infinity;

  /** @param boundaries that hold already. */
  constructor(
    private readonly keep: KeptFor,
    public boundaries: KeptSince,
  ) {}

  /** The first moment that is kept of an organization. */
  from(orgId: string): number {
    return this.boundaries.size === 0 ? 0 : keptSince(this.boundaries, orgId);
  }

  /** Takes note of the time at which a record was received. */
  note(receivedMs: number): void {
    const asOfMs = this.#time.after(receivedMs, this.#isLater(receivedMs));
    if (asOfMs === undefined) return;
    this.#time.restart();
    this.#asOfMs = asOfMs;
    const keeps = [[everyOrganization, this.keep.ms] as const, ...(this.keep.less?.() ?? [])];
    const from = keeps.map(([orgId, keepMs]) => [orgId, keptFrom(keepMs, asOfMs)] as const);
    const later = from.filter(([orgId, fromMs]) => fromMs > (this.boundaries.get(orgId) ?? 0));
    if (later.length > 0) this.boundaries = new Map([...this.boundaries, ...later]);
  }

  /** Whether the boundary of all moves at this time. Those of organizations do once a day: what is shown of them does not depend on it. */
  #isLater(nowMs: number): boolean {
    const moves = keptFrom(this.keep.ms, nowMs) > (this.boundaries.get(everyOrganization) ?? 0);
    return moves || (this.keep.less !== undefined && nowMs >= this.#asOfMs + dayMs);
  }
}
