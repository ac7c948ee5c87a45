import type { DatabaseSync } from 'node:sqlite';
import { TelemetryError } from '#model';
import { checkRow, columnsChecksum } from '../checksum.js';
import { type Archive, type ArchiveLevel, archiveLevels } from './archive.js';

/** The first moment that is kept, an edge of a day: of points, and of the rollup rows of each level. */
export type Boundaries = Readonly<Record<'raw' | ArchiveLevel, number>>;
export const fromTheBeginning: Boundaries = { raw: 0, '1m': 0, '1h': 0, '1d': 0 };

/** How far back the store reaches. Boundaries never move back. */
export interface Kept {
  /** Points before `wanted.raw` are no longer taken. */
  readonly wanted: Boundaries;
  /** What readers see, once all before it is archived. */
  readonly reached: Boundaries;
  /** The time by which `wanted` was reckoned. */
  readonly asOfMs: number;
  /** The archive that was made last, 0 for none: while this row is the same, so are the archives. */
  readonly newest: number;
}

export const allKept: Kept = { wanted: fromTheBeginning, reached: fromTheBeginning, asOfMs: 0, newest: 0 };

/** Archives have negative numbers, so that blocks tell whether they belong to an archive or a run. */
export const keptTables = `
  CREATE TABLE IF NOT EXISTS kept(id INTEGER PRIMARY KEY CHECK (id = 1), info TEXT NOT NULL, crc INT NOT NULL);
  CREATE TABLE IF NOT EXISTS archive(id INTEGER PRIMARY KEY, info TEXT NOT NULL, crc INT NOT NULL);
`;

export function writeKept(db: DatabaseSync, kept: Kept): void {
  const info = JSON.stringify(kept);
  db.prepare('INSERT OR REPLACE INTO kept(id, info, crc) VALUES (1, ?, ?)').run(info, columnsChecksum(info));
}

export function insertArchive(db: DatabaseSync, archive: Archive): void {
  const info = JSON.stringify(archive);
  db.prepare('INSERT INTO archive(id, info, crc) VALUES (?, ?, ?)').run(archive.id, info, columnsChecksum(info));
}

/** What is kept, and the archives by time. */
export interface KeptArchives {
  readonly kept: Kept;
  readonly archives: readonly Archive[];
}

/** Makes the function that reads what is kept. It reads archives only when they have changed, and throws TelemetryError `store_corrupt`. */
export function keptReader(db: DatabaseSync): () => KeptArchives {
  const row = db.prepare('SELECT info, crc FROM kept');
  const all = db.prepare('SELECT info, crc FROM archive');
  let known = '';
  let last: KeptArchives = { kept: allKept, archives: [] };
  return () => {
    const { info, crc } = (row.get() ?? { info: '', crc: 0 }) as { info: string; crc: number };
    if (info === known) return last;
    checkRow('what is kept', crc, info);
    const kept = JSON.parse(info) as Kept;
    const rows = all.all() as { info: string; crc: number }[];
    const archives = rows.map((archive) => {
      checkRow('an archive', archive.crc, archive.info);
      return JSON.parse(archive.info) as Archive;
    });
    checkNoneLost(kept, archives);
    known = info;
    last = { kept, archives: archives.toSorted((a, b) => a.fromMs - b.fromMs) };
    return last;
  };
}

/** @throws TelemetryError `store_corrupt` when there are archives and nothing says what is kept. */
export function checkKeptRow(db: DatabaseSync): void {
  const isLost = db.prepare('SELECT 1 FROM block WHERE run < 0 AND NOT EXISTS (SELECT 1 FROM kept) LIMIT 1').get();
  if (isLost) throw new TelemetryError('store_corrupt', 'The store has lost the row that says what is kept.');
}

/** Archives of a level follow one another from what is kept of it up to the points. */
function checkNoneLost({ reached }: Kept, archives: readonly Archive[]): void {
  for (const level of archiveLevels) {
    let endMs = reached[level];
    const its = archives.filter((archive) => archive.level === level).toSorted((a, b) => a.fromMs - b.fromMs);
    for (const { fromMs, toMs } of its) {
      if (fromMs > endMs) break;
      endMs = toMs;
    }
    if (endMs < reached.raw)
      throw new TelemetryError('store_corrupt', `The store has lost the archive of ${level} from ${new Date(endMs).toISOString()} on.`);
  }
}
