import { copyFileSync, existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { columnsChecksum } from '../checksum.js';
import { takeWhatIsNotArchived } from '../series/carry.js';
import type { Run } from '../series/run.js';
import { openStoreForWriting, settleStore } from '../store-file.js';
import { transaction } from '../transaction.js';
import { type Bounded, createBoundaries, type KeptSince, readBoundaries, writeBoundaries } from '../boundaries.js';
import { damagedPlaces } from './damage.js';

/**
 * Copies what an old store has from records that the log has dropped: all of its events, and its points up to the run that reaches to where the log
 * begins. The rest comes from the log again.
 * @throws TelemetryError `store_corrupt` when some of that is damaged or missing, or Error of SQLite.
 */
export function keepOld(old: string, fresh: string, begins: number): void {
  settleStore(old);
  copyFileSync(old, fresh);
  using db = openStoreForWriting(fresh);
  const runs = neededRuns(db, begins);
  transaction(db, () => {
    const kept = JSON.stringify(runs.map(({ id }) => id));
    db.prepare('DELETE FROM run WHERE id NOT IN (SELECT value FROM json_each(?))').run(kept);
    // Archives have negative numbers.
    db.prepare('DELETE FROM block WHERE run > 0 AND run NOT IN (SELECT value FROM json_each(?))').run(kept);
    db.prepare('UPDATE newest SET arena = ?').run(runs.at(-1)?.lastArena ?? 0);
    takeWhatIsNotArchived(db);
  });
  for (const place of damagedPlaces(db)) throw damaged(place);
}

/** The oldest runs, up to the first one behind which the log has everything. */
function neededRuns(db: DatabaseSync, begins: number): readonly Run[] {
  const rows = db.prepare('SELECT info, crc FROM run').all() as unknown as { readonly info: string; readonly crc: number }[];
  const whole = rows.filter(({ info, crc }) => columnsChecksum(info) === crc).map(({ info }) => JSON.parse(info) as Run);
  const needed: Run[] = [];
  for (const run of whole.toSorted((a, b) => a.firstArena - b.firstArena)) {
    const last = needed.at(-1);
    if (run.firstArena !== (last?.lastArena ?? 0) + 1 || reach(last) >= begins - 1) break;
    needed.push(run);
  }
  const newest = (db.prepare('SELECT arena FROM newest').get() as { arena: number } | undefined)?.arena ?? 0;
  const last = needed.at(-1);
  if (reach(last) < begins - 1 && (last?.lastArena ?? 0) !== newest)
    throw damaged(`the run behind arena ${last?.lastArena ?? 0} is lost or damaged`);
  return needed;
}

/** Points are taken in the order of the log, so a run and those before it have all of them up to this offset. */
const reach = (run: Run | undefined): number => Math.max(-1, ...Object.values(run?.offsets ?? {}));

const damaged = (place: string): TelemetryError => new TelemetryError('store_corrupt', `The old store is damaged: ${place}`);

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
