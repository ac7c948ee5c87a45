import { existsSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { DataFolderError } from '../data-folder.js';
import { openStoreForWriting } from '../store-file.js';
import { transaction } from '../transaction.js';
import { Block, type BlockRow } from './block.js';
import { nameTables, readNames } from './directory-rows.js';
import { endedTable, readEnded } from './ended.js';
import { keptReader, keptTables, writeKept, type Kept } from './kept.js';
import { NameCheck } from './name-check.js';
import { createSeriesTables } from './writer.js';

/**
 * Copies what a store has archived, and the names that it belongs to, into the file of a new store: the points are gone, so no log makes it again.
 * The new store takes points where the archives end. Of a store that cannot be read at all nothing is copied.
 * @throws DataFolderError when what is archived is damaged.
 */
export function carryArchives(old: string, fresh: string): void {
  const kept = existsSync(old) ? keptOf(old) : undefined;
  if (!kept || kept.reached.raw === 0) return;
  using from = openStoreForWriting(old);
  from.exec(endedTable);
  try {
    checkArchives(from);
  } catch (cause) {
    throw new DataFolderError(damaged(old, kept), { cause });
  }
  using to = openStoreForWriting(fresh);
  createSeriesTables(to);
  to.prepare('ATTACH ? AS old').run(old);
  transaction(to, () => {
    for (const table of ['metric', 'metric_maker', 'source', 'ended', 'archive'])
      to.exec(`INSERT INTO ${table} SELECT * FROM old.${table}`);
    to.exec('INSERT INTO block SELECT * FROM old.block WHERE run IN (SELECT id FROM old.archive)');
    writeKept(to, kept);
    takeWhatIsNotArchived(to);
  });
}

/** Has a store take again, from the log, points that it did not take any more but has not archived. */
export function takeWhatIsNotArchived(db: DatabaseSync): void {
  db.exec(keptTables);
  const { kept } = keptReader(db)();
  writeKept(db, { ...kept, wanted: kept.reached });
}

function keptOf(file: string): Kept | undefined {
  try {
    using db = openStoreForWriting(file);
    return keptReader(db)().kept;
  } catch {
    return undefined;
  }
}

/** @throws TelemetryError `store_corrupt`. */
function checkArchives(db: DatabaseSync): void {
  db.exec(nameTables);
  while (new NameCheck(db, readNames(db, readEnded(db).series), () => undefined).step(Infinity));
  const rows = db
    .prepare('SELECT run, kind, key, time_ms AS timeMs, number, body FROM block WHERE run IN (SELECT id FROM archive)')
    .iterate();
  for (const { key, timeMs, ...row } of rows as Iterable<unknown> as Iterable<BlockRow & BlockRow['last']>) {
    void new Block({ ...row, last: { key, timeMs } });
  }
}

const damaged = (file: string, { reached }: Kept): string =>
  `What ${file} has archived of points before ${new Date(reached.raw).toISOString().slice(0, 10)} is damaged, and the old store stands: restore a copy of the ` +
  'folder, or move the file away and rebuild from the log alone, which has what it still holds of them.';
