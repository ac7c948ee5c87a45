import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { rowChecksum } from '../checksum.js';
import { DataFolderError } from '../data-folder.js';
import { sync } from '../durable-file.js';
import type { Batch } from './batch.js';
import { beginEpoch, type Epoch } from './epochs.js';
import { damaged, inLog, logFolderName } from './fault.js';
import { filePath } from './log-folder.js';
import { Positions } from './positions.js';
import { SealedWriter, unfinished } from './sealed-writer.js';
import { Witness } from './witness.js';

/** The log of the versions that kept it in one file of SQLite, and the files beside it. */
const oldFiles = { log: 'log.db', witness: 'log.head' } as const;
const segmentBytes = 64 << 20;

interface BatchRow {
  readonly first: number;
  /** The `first` of the row before; -1 in the first row. */
  readonly prev: number;
  readonly n: number;
  readonly ms: number;
  /** 1 when the body is compressed. */
  readonly z: number;
  readonly crc: number;
  readonly body: Uint8Array;
}

interface LatestRow {
  readonly at: number;
  readonly ms: number;
  /** 1 for a tombstone. */
  readonly gone: number;
  readonly crc: number;
  readonly frame: Uint8Array;
}

/**
 * Makes the log's files of the one file in which earlier versions kept it, if that is there and they are not. Whenever it is ended, calling it again
 * begins again. It needs free space for a second copy.
 * @throws TelemetryError `log_corrupt` when the old file does not hold all that was acknowledged.
 */
export async function convertOldLog(dataFolder: string): Promise<void> {
  const [old, folder] = [join(dataFolder, oldFiles.log), join(dataFolder, logFolderName)];
  if (!existsSync(old) || existsSync(folder)) return;
  const fresh = folder + unfinished;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { mode: 0o700 });
  await convert(old, new Witness(join(dataFolder, oldFiles.witness)).head(), fresh);
  renameSync(fresh, folder);
  sync(dataFolder);
}

/**
 * Removes the old file when a log was made of it.
 * @param epochs of that log.
 * @throws DataFolderError when the file is another log.
 */
export function removeOldLog(dataFolder: string, [oldest]: readonly Epoch[]): void {
  const old = join(dataFolder, oldFiles.log);
  if (!existsSync(old)) return;
  if (oldestEpochOf(old)?.id !== oldest?.id) {
    throw new DataFolderError(
      `The data folder ${dataFolder} has two logs, ${oldFiles.log} of an earlier version and ${logFolderName}/, and neither was made of the other: move one of them away.`,
    );
  }
  for (const name of [oldFiles.log, `${oldFiles.log}-wal`, `${oldFiles.log}-shm`, oldFiles.witness])
    rmSync(join(dataFolder, name), { force: true });
}

async function convert(old: string, least: number | undefined, folder: string): Promise<void> {
  using db = inLog(`opening ${oldFiles.log}`, () => new DatabaseSync(old));
  const head = inDatabase(() => headOf(db));
  if (head < (least ?? 0)) throw wrong(`it ends at offset ${head}, and records up to ${least! - 1} were acknowledged`);
  if (head === 0) return;
  await convertNewest(db, head, folder);
  let first = 0;
  let writer = new SealedWriter(filePath(folder, 'sealed', first));
  for (const batch of kept(db)) {
    if (writer.bytes >= segmentBytes) {
      writer.finish(first, batch.first);
      first = batch.first;
      writer = new SealedWriter(filePath(folder, 'sealed', first));
    }
    if (writer.add(batch)) await setImmediate();
  }
  writer.finish(
    first,
    head,
    inDatabase(() => ({ epochs: epochsOf(db), positions: positionsOf(db) })),
  );
}

async function convertNewest(db: DatabaseSync, head: number, folder: string): Promise<void> {
  const writer = new SealedWriter(filePath(folder, 'newest', head));
  for (const batch of newest(db)) if (writer.add(batch)) await setImmediate();
  writer.finish(0, head);
}

function headOf(db: DatabaseSync): number {
  for (const table of ['batch', 'latest', 'tally', 'position', 'epoch']) {
    const [{ quick_check: tree }] = db.prepare(`PRAGMA quick_check('${table}')`).all() as unknown as [{ quick_check: string }];
    if (tree !== 'ok') throw wrong(`the table ${table}: ${tree}`);
  }
  const ends = db
    .prepare('SELECT ifnull(max(first + n), 0) AS kept, (SELECT ifnull(max(at) + 1, 0) FROM latest) AS newest FROM batch')
    .get();
  return Math.max(ends!['kept'] as number, ends!['newest'] as number);
}

function* kept(db: DatabaseSync): Generator<Batch> {
  let before = -1;
  for (const row of rows<BatchRow>(db, 'SELECT first, prev, n, ms, z, crc, body FROM batch ORDER BY first')) {
    const { first, prev, n, ms, z, crc, body } = row;
    if (prev !== before) throw wrong(`the row after offset ${before} is missing, found row ${first}`);
    if (!ArrayBuffer.isView(body) || crc !== rowChecksum(body, first, prev, n, ms, z)) throw wrong(`row ${first} fails its checksum`);
    yield { kind: 'kept', first, n, ms, frames: z === 1 ? zstdDecompressSync(body) : Buffer.from(body) };
    before = first;
  }
}

function* newest(db: DatabaseSync): Generator<Batch> {
  let [count, sum] = [0, 0];
  for (const { at, ms, gone, crc, frame } of rows<LatestRow>(db, 'SELECT at, ms, gone, crc, frame FROM latest ORDER BY at')) {
    if (!ArrayBuffer.isView(frame) || crc !== rowChecksum(frame, at, ms, gone)) throw wrong(`compacted row ${at} fails its checksum`);
    yield { kind: 'compacted', first: at, n: 1, ms, frames: Buffer.from(frame) };
    [count, sum] = [count + 1, (sum + crc) % 2 ** 32];
  }
  const [tally] = rows<{ readonly rows: number; readonly sum: number }>(db, 'SELECT rows, sum FROM tally');
  if (tally?.rows !== count || tally.sum !== sum) throw wrong('rows of the compacted topics are missing');
}

/** Versions that wrote no epochs leave a log whose history begins with this one. */
function epochsOf(db: DatabaseSync): readonly Epoch[] {
  if (db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'epoch'").get() === undefined) return [beginEpoch(0)];
  return [...rows<Epoch & { readonly crc: number }>(db, 'SELECT start, id, crc FROM epoch ORDER BY start')].map(({ start, id, crc }) => {
    if (typeof id !== 'string' || crc !== rowChecksum(id, start)) throw wrong(`the epoch from offset ${start} fails its checksum`);
    return { start, id };
  });
}

function oldestEpochOf(old: string): Epoch | undefined {
  using db = inDatabase(() => new DatabaseSync(old));
  return inDatabase(() => epochsOf(db))[0];
}

function positionsOf(db: DatabaseSync): ReturnType<Positions['of']> {
  const positions = new Positions(db, wrong);
  return positions.names().flatMap((group) => positions.of(group));
}

function* rows<T>(db: DatabaseSync, query: string): Generator<T> {
  const found = inDatabase(() => db.prepare(query).iterate()) as Iterator<unknown> as Iterator<T>;
  for (let row = inDatabase(() => found.next()); !row.done; row = inDatabase(() => found.next())) yield row.value;
}

/** What SQLite does not read of its own file is damage. */
function inDatabase<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw cause instanceof Error && 'errcode' in cause ? wrong(cause.message, cause) : cause;
  }
}

const wrong = (place: string, cause?: unknown): Error => damaged(`${oldFiles.log}: ${place}`, cause);
