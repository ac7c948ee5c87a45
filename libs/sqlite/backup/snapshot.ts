import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { backup } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { DataFolderError, folderFormats, formatFileName, formatIn } from '../data-folder.js';
import { makePrivate } from '../durable-file.js';
import { damaged, inLog, logFolderName } from '../log/fault.js';
import type { Contents } from '../log/sealed-file.js';
import { filesIn } from '../log/log-folder.js';
import { witnessBytes, witnessFileName } from '../log/witness.js';
import { partitionCountsName } from '../partition-counts.js';
import { schemaFileName } from '../schema-file.js';
import { isTrouble, storeFailure } from '../store-failure.js';
import { openStoreForReading, removeStore, storeFileName } from '../store-file.js';
import { logAtOneMoment, type LogFile } from './log-snapshot.js';

/** A file of a snapshot. */
export interface SnapshotFile {
  /** Where it is in the data folder, with `/` between folders. */
  readonly name: string;
  readonly size: number;
  /** Its bytes, piece by piece. Throws `log_corrupt` when they are damaged. */
  readonly bytes: () => Iterable<Buffer>;
  /** Of a file of the log that never changes. */
  readonly contents?: Contents | undefined;
}

/** The store as it was at one moment, in a file beside it or elsewhere. */
export interface StoreCopy {
  readonly file: string;
  /** The store lacks records from this offset on, so the log must not begin behind it. */
  readonly next: number;
}

const pieceBytes = 256 << 10;
/** So many pages of the store are copied in one step, 4 MiB: a process that is to end waits for no more. */
const stepPages = 1024;

/**
 * Copies the store as it is at one moment, while others use it, without holding up the event loop. Undefined when there is none.
 * Rejects `store_corrupt`, and DataFolderError when the folder is of another version, there is no room, or the store is busy.
 * @param file that the copy is written to.
 */
export async function copyStore(dataFolder: string, file: string): Promise<StoreCopy | undefined> {
  // To open the store of another version may change what is beside it.
  formatOf(dataFolder);
  const store = join(dataFolder, storeFileName);
  if (!existsSync(store)) return undefined;
  const [oldest] = filesIn(join(dataFolder, logFolderName));
  removeStore(file);
  makePrivate(file);
  try {
    using db = openStoreForReading(store);
    // Within a transaction every step reads the same moment, and what is written meanwhile does not make the copy begin again.
    db.exec('BEGIN');
    const hasOrigin = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'origin'").get() !== undefined;
    const next = hasOrigin ? Number(db.prepare('SELECT next FROM origin').get()?.['next'] ?? 0) : 0;
    await backup(db, file, { rate: stepPages });
    // A store that was made again from a log that has forgotten its oldest records has none of these.
    return { file, next: Math.max(next, oldest?.offset ?? 0) };
  } catch (cause) {
    if (!isTrouble(cause)) throw storeFailure(cause);
    throw new DataFolderError(`The store cannot be copied to ${file}: ${(cause as Error).message}. Make room there, or try again.`, {
      cause,
    });
  }
}

/** Copies the store to a file, which is gone once this resolves, and opens the folder as it is then. */
export async function takeSnapshot(dataFolder: string, storeCopy: string): Promise<Snapshot> {
  try {
    return Snapshot.open(dataFolder, await copyStore(dataFolder, storeCopy));
  } finally {
    removeStore(storeCopy);
  }
}

/** A data folder at one moment: what is in it stays readable whatever becomes of the folder, until it is closed. */
export class Snapshot implements Disposable {
  private constructor(
    /** The offset after the last record of its log. */
    readonly head: number,
    readonly files: readonly SnapshotFile[],
    private readonly log: readonly LogFile[],
    private readonly open: readonly number[],
  ) {}

  /**
   * Opens it with a copy of the store that was made before, so that the log lacks no record that the store has.
   * @throws DataFolderError, or TelemetryError `log_corrupt` and `log_unavailable`.
   */
  static open(dataFolder: string, store: StoreCopy | undefined): Snapshot {
    formatOf(dataFolder);
    const opened: number[] = [];
    try {
      const files: SnapshotFile[] = [];
      if (store) {
        const file = openSync(store.file, 'r');
        opened.push(file);
        files.push(openFile(storeFileName, file));
      }
      const log = inLog('copying the log', () => logAtOneMoment(join(dataFolder, logFolderName)));
      opened.push(...log.files.map(({ file }) => file));
      if (store && log.first > store.next)
        throw new DataFolderError(`The log of ${dataFolder} has forgotten records while they were copied: begin the backup again.`);
      files.push(...log.files.map(logFile));
      files.push(inMemory(`${logFolderName}/${witnessFileName}`, witnessBytes(log.head)));
      // Their schemas were there before the records of the log.
      for (const name of [schemaFileName, partitionCountsName]) {
        const path = join(dataFolder, name);
        if (existsSync(path)) files.push(inMemory(name, readFileSync(path)));
      }
      // The format rises before records are dropped, so FORMAT is read after the log.
      files.push(inMemory(formatFileName, formatOf(dataFolder)));
      return new Snapshot(log.head, files, log.files, opened);
    } catch (cause) {
      for (const file of opened) closeSync(file);
      throw cause;
    }
  }

  /** To be called when all has been read. @throws DataFolderError when somebody has written the log anew meanwhile. */
  checkLog(): void {
    for (const file of this.log) refuseRewritten(file);
  }

  [Symbol.dispose](): void {
    for (const file of this.open) closeSync(file);
  }
}

/** @throws DataFolderError unless the format of the folder is one that this version writes. */
function formatOf(dataFolder: string): Buffer {
  const path = join(dataFolder, formatFileName);
  if (!existsSync(path))
    throw new DataFolderError(`${dataFolder} is not a data folder of a server: name the one that HEADWATER_DATA names.`);
  const text = readFileSync(path);
  if (formatIn(`the data folder ${dataFolder}`, text.toString()) >= folderFormats.ordinary) return text;
  throw new DataFolderError(
    `The data folder ${dataFolder} is of an earlier version: back it up with that, or start this version on it once.`,
  );
}

const inMemory = (name: string, bytes: Buffer): SnapshotFile => ({ name, size: bytes.length, bytes: () => [bytes] });

const openFile = (name: string, file: number, size = fstatSync(file).size): SnapshotFile => ({
  name,
  size,
  bytes: () => piecesOf(name, file, size),
});

const logFile = ({ name, file, size, contents }: LogFile): SnapshotFile => {
  const whole = openFile(`${logFolderName}/${name}`, file, size);
  return contents ? { ...whole, contents, bytes: () => checkedPieces(name, whole.bytes(), contents) } : whole;
};

function* piecesOf(name: string, file: number, size: number): Generator<Buffer> {
  for (let at = 0; at < size;) {
    const piece = Buffer.allocUnsafeSlow(Math.min(pieceBytes, size - at));
    const read = readSync(file, piece, 0, piece.length, at);
    if (read === 0) throw damaged(`${name} ends at byte ${at} and had ${size}`);
    yield piece.subarray(0, read);
    at += read;
  }
}

/** What is damaged must not take the place of an older copy that is not. */
function* checkedPieces(name: string, pieces: Iterable<Buffer>, { blocks }: Contents): Generator<Buffer> {
  const inOrder = blocks.toSorted((a, b) => a.at - b.at).values();
  let { value: block } = inOrder.next();
  let [from, sum] = [0, 0];
  for (const piece of pieces) {
    const to = from + piece.length;
    while (block && block.at < to) {
      const end = block.at + block.bytes;
      sum = crc32(piece.subarray(Math.max(0, block.at - from), Math.min(end, to) - from), sum);
      if (end > to) break;
      if (sum !== block.crc) throw damaged(`${name}: the block with offsets from ${block.first} to ${block.end - 1} fails its checksum`);
      [block, sum] = [inOrder.next().value, 0];
    }
    from = to;
    yield piece;
  }
}

/** A file of the log that never changes may only vanish. */
function refuseRewritten({ file, path, contents }: LogFile): void {
  const found = contents && statSync(path, { throwIfNoEntry: false });
  if (!found || found.ino === fstatSync(file).ino) return;
  throw new DataFolderError(`${path} was written anew while it was copied: begin the backup again when nobody works on the data folder.`);
}
