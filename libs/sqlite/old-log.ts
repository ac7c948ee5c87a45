import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { zstdDecompressSync } from 'node:zlib';
import { rowChecksum } from './checksum.js';
import { DataFolderError } from './data-folder.js';
import { sync } from './durable-file.js';
import { isTrouble } from './store-failure.js';
import type { Batch } from './log/batch.js';
import type { Epoch } from './log/epochs.js';
import { damaged, logFault, logFolderName } from './log/fault.js';
import { filePath, type FileKind } from './log/log-folder.js';
import { Positions } from './log/positions.js';
import { SealedWriter, unfinished } from './log/sealed-writer.js';
import { Witness, witnessFileName } from './log/witness.js';

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

/** Tables of all of those versions; the first ones had only those that are `needed`. */
const needed = ['batch', 'latest', 'tally', 'position'];
const tables = [...needed, 'epoch', 'letter', 'noted'];

/**
 * Makes the log's files of the one file in which earlier versions kept it, if that is there and they are not. Whenever it is ended, calling it again
 * begins again. The old file stays as it is, so there has to be free space for a second copy.
 * @param maxBytes a file ends with the records with which it reaches so many bytes.
 * @throws TelemetryError `log_corrupt` when the old file does not hold all that was acknowledged, and `log_unavailable` as on a full disk.
 */
export async function convertOldLog(dataFolder: string, maxBytes = segmentBytes): Promise<void> {
  const [old, folder] = [join(dataFolder, oldFiles.log), join(dataFolder, logFolderName)];
  if (existsSync(folder)) return;
  const least = new Witness(join(dataFolder, oldFiles.witness)).head();
  if (!existsSync(old)) {
    if (least) throw tooShort(0, least);
    return;
  }
  const fresh = folder + unfinished;
  try {
    rmSync(fresh, { recursive: true, force: true });
    mkdirSync(fresh, { mode: 0o700 });
    await convert(old, least, fresh, maxBytes);
    renameSync(fresh, folder);
    sync(dataFolder);
  } catch (cause) {
    rmSync(fresh, { recursive: true, force: true });
    throw logFault(cause, `converting ${oldFiles.log}`);
  }
}

/**
 * Removes the old file once the log that was made of it has been opened.
 * @throws DataFolderError when the file holds something else than that log, as after a version that knows nothing of the log has written to the file.
 */
export function removeOldLog(dataFolder: string, log: OpenedLog): void {
  const old = join(dataFolder, oldFiles.log);
  if (existsSync(old) && !isIn(log, old)) {
    throw new DataFolderError(
      `The data folder ${dataFolder} has two logs, ${oldFiles.log} of an earlier version and ${logFolderName}/, and they do not hold the same: move ` +
        `${logFolderName}/ away to go on with ${oldFiles.log}, or ${oldFiles.log}, ${oldFiles.log}-wal and ${oldFiles.log}-shm to go on with ${logFolderName}/.`,
    );
  }
  for (const name of [oldFiles.log, `${oldFiles.log}-wal`, `${oldFiles.log}-shm`, oldFiles.witness])
    rmSync(join(dataFolder, name), { force: true });
}

/** A log to which nothing was appended since it was opened. */
interface OpenedLog {
  readonly head: number;
  /** Oldest first. */
  readonly epochs: readonly Epoch[];
}

async function convert(old: string, least: number | undefined, folder: string, maxBytes: number): Promise<void> {
  using db = openOld(old);
  const head = headOf(db);
  if (head < (least ?? 0)) throw tooShort(head, least!);
  if (head === 0) return;
  const state = inDatabase(() => ({ epochs: epochsOf(db), positions: positionsOf(db) }));
  using writers = new DisposableStack();
  const begin = (kind: FileKind, offset: number): SealedWriter => writers.use(new SealedWriter(filePath(folder, kind, offset)));
  const newestRecords = begin('newest', head);
  for (const batch of newest(db)) if (newestRecords.add(batch)) await setImmediate();
  newestRecords.finish(0, head);
  let first = 0;
  let records = begin('sealed', first);
  for (const batch of kept(db)) {
    if (records.bytes >= maxBytes) {
      records.finish(first, batch.first);
      first = batch.first;
      records = begin('sealed', first);
    }
    if (records.add(batch)) await setImmediate();
  }
  records.finish(first, head, state);
  if (least !== undefined) noteHead(folder, head);
}

/** Without it the next start could not tell whether the end of the log is missing. */
function noteHead(folder: string, head: number): void {
  const witness = new Witness(join(folder, witnessFileName));
  witness.saw(head);
  witness.close();
}

/** Nothing is written to the file: the version that wrote it can still open it. */
const openOld = (old: string): DatabaseSync => inDatabase(() => new DatabaseSync(old, { readOnly: true }));

/** Whether a log holds what the old file holds, or that holds nothing. */
function isIn({ head, epochs: [oldest] }: OpenedLog, old: string): boolean {
  using db = openOld(old);
  const itsHead = headOf(db);
  return itsHead === 0 || (itsHead === head && inDatabase(() => epochsOf(db))[0]!.id === oldest?.id);
}

function headOf(db: DatabaseSync): number {
  return inDatabase(() => {
    const found = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
    const names = found.map(({ name }) => String(name));
    // A first start was ended before it made them.
    if (names.length === 0) return 0;
    for (const table of [...needed, ...names]) {
      if (!names.includes(table)) throw wrong(`the table ${table} is missing`);
      if (!tables.includes(table)) throw wrong(`the table ${table} is not one of ours`);
    }
    for (const table of names) {
      const [{ quick_check: tree }] = db.prepare(`PRAGMA quick_check('${table}')`).all() as unknown as [{ quick_check: string }];
      if (tree !== 'ok') throw wrong(`the table ${table}: ${tree}`);
    }
    const ends = db
      .prepare('SELECT ifnull(max(first + n), 0) AS kept, (SELECT ifnull(max(at) + 1, 0) FROM latest) AS newest FROM batch')
      .get();
    return Math.max(ends!['kept'] as number, ends!['newest'] as number);
  });
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

/** The first versions wrote no epochs: a log of theirs begins with one whose id is made of what the file holds, so that it is the same each time. */
function epochsOf(db: DatabaseSync): readonly Epoch[] {
  const hasEpochs = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'epoch'").get() !== undefined;
  const found = hasEpochs ? [...rows<Epoch & { readonly crc: number }>(db, 'SELECT start, id, crc FROM epoch ORDER BY start')] : [];
  if (found.length === 0) return [{ start: 0, id: digestOf(db) }];
  return found.map(({ start, id, crc }) => {
    if (typeof id !== 'string' || crc !== rowChecksum(id, start)) throw wrong(`the epoch from offset ${start} fails its checksum`);
    return { start, id };
  });
}

function digestOf(db: DatabaseSync): string {
  const hash = createHash('sha256');
  for (const { crc } of rows<Pick<BatchRow, 'crc'>>(db, 'SELECT crc FROM batch ORDER BY first')) hash.update(`${crc} `);
  for (const { crc } of rows<Pick<LatestRow, 'crc'>>(db, 'SELECT crc FROM latest ORDER BY at')) hash.update(`${crc} `);
  return hash.digest('hex').slice(0, 16);
}

function positionsOf(db: DatabaseSync): ReturnType<Positions['of']> {
  const positions = new Positions(db, wrong);
  return positions.names().flatMap((group) => positions.of(group));
}

function* rows<T>(db: DatabaseSync, query: string): Generator<T> {
  const found = inDatabase(() => db.prepare(query).iterate()) as Iterator<unknown> as Iterator<T>;
  for (let row = inDatabase(() => found.next()); !row.done; row = inDatabase(() => found.next())) yield row.value;
}

/** What SQLite does not read of its own file is damage, unless the disk or another process keeps SQLite from reading. */
function inDatabase<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    throw isDamage(cause) ? wrong((cause as Error).message, cause) : cause;
  }
}

const isDamage = (cause: unknown): boolean => {
  const { code } = cause as NodeJS.ErrnoException;
  return code === 'ERR_OUT_OF_RANGE' || (code === 'ERR_SQLITE_ERROR' && !isTrouble(cause));
};

const tooShort = (head: number, least: number): Error =>
  wrong(`it ends at offset ${head}, and records up to ${least - 1} were acknowledged; to go on without them, remove ${oldFiles.witness}`);

const wrong = (place: string, cause?: unknown): Error => damaged(`${oldFiles.log}: ${place}`, cause);
