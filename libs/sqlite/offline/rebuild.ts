import { renameSync, rmSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { deliver, type AnyTopic, type Group, type Processor, type StreamRecord } from '#log';
import { forever, TelemetryError } from '#model';
import type { Generation } from '#stores';
import { DataFolderError, openDataFolder } from '../data-folder.js';
import { sync } from '../durable-file.js';
import { everyPartition, type GroupPosition } from '../log/positions.js';
import { logFolderName } from '../log/fault.js';
import { bytesOfLog } from '../log/log-folder.js';
import type { FileLog } from '../log/file-log.js';
import { keepPositions, openLog } from '../storage.js';
import { storeFailure } from '../store-failure.js';
import { openStoreForWriting, removeStore, settleStore, storeFileName } from '../store-file.js';
import { checkNoneMissed, fitStore, onlyInStore } from '../store-origin.js';
import { StoreThreads } from '../store-threads.js';
import { openStores } from '../stores.js';
import { carryArchives } from '../series/carry.js';
import { carryBoundaries, keepOld } from './keep-old.js';
import { readRecords, type PassProgress } from './read-records.js';

export interface Rebuilt {
  /** Records that were projected. */
  readonly records: number;
  /** Records that cannot be decoded. */
  readonly unreadable: number;
}

/** Makes the projectors of the one generation that a data folder has. A reactor would need the log: none is run here. */
export type ProjectorsOf = (generation: Generation) => readonly Processor[];

const freshName = `${storeFileName}.rebuilding`;

export interface RebuildOptions {
  readonly onProgress?: (progress: PassProgress) => void;
  /** Of the folder's disk. */
  readonly freeBytes?: (folder: string) => number;
  /** Makes the new store from the log alone: it then lacks what only the old store has, of records that the log has dropped and of points that were archived. */
  readonly withoutDeleted?: boolean;
}

/**
 * Makes the store of a stopped server anew from its log, in a file beside the old one that then takes its name: whenever it is ended, one of
 * the two stands whole, and what it leaves behind is removed by the next one. The next start goes on at the log's end. What the
 * old store has archived is taken over.
 * Where the log has dropped records, the new store takes over what the old one has of them.
 * Rejects DataFolderError when the folder is in use, the disk has too little room, or what would be taken over is damaged, `log_corrupt`, and
 * whatever a processor rejects; the old store then stands.
 */
export async function rebuild(
  dir: string,
  projectorsOf: ProjectorsOf,
  { onProgress = () => {}, freeBytes = freeBytesAt, withoutDeleted = false }: RebuildOptions = {},
): Promise<Rebuilt> {
  await using opened = new AsyncDisposableStack();
  const folder = openDataFolder(dir);
  opened.defer(() => folder.release());
  const log = await openLog(folder);
  opened.defer(() => log.close());
  const keepsOld = log.begins > 0 && !withoutDeleted;
  const fresh = join(folder.path, freshName);
  removeStore(fresh);
  const bytes = storeBytes(folder.path);
  const free = freeBytes(folder.path);
  if (free < bytes) throw new DataFolderError(tooLittleRoom(folder.path, bytes, free));
  try {
    if (keepsOld) {
      fitStore(folder.path, log);
      keepOld(join(folder.path, storeFileName), fresh, log.begins);
    } else if (!withoutDeleted) {
      carryArchives(join(folder.path, storeFileName), fresh);
      carryBoundaries(join(folder.path, storeFileName), fresh);
    }
    const rebuilt = await fill(log, fresh, projectorsOf, onProgress, async (projectors) => {
      if (keepsOld) await checkNoneMissed(folder.path, log, projectors);
    });
    replaceStore(fresh, join(folder.path, storeFileName));
    return rebuilt;
  } catch (cause) {
    removeStore(fresh);
    const failure = storeFailure(cause);
    if (!(failure instanceof TelemetryError)) throw cause;
    if (failure.code === 'store_unavailable') throw new DataFolderError(tooLittleRoom(folder.path, bytes, free), { cause });
    if (failure.code === 'store_corrupt' && keepsOld)
      throw new DataFolderError(`${failure.message} The old store stands. ${onlyInStore(folder.path)}`, { cause });
    throw cause;
  }
}

/** What the new store will take at least, about: as much as the old one, or half of the log where there is none. */
function storeBytes(folder: string): number {
  const sizeOf = (name: string): number => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  return sizeOf(storeFileName) + sizeOf(`${storeFileName}-wal`) || bytesOfLog(join(folder, logFolderName)) / 2;
}

function freeBytesAt(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}

/** Merges hold what they read and what they write of it at once, and the write-ahead file comes on top. */
function tooLittleRoom(folder: string, bytes: number, free: number): string {
  const mebibytes = (size: number): string => `${Math.ceil(size / 2 ** 20).toLocaleString('en')} MiB`;
  return (
    `The new store of the data folder ${folder} cannot be written, and the old one stands. A rebuild needs about ` +
    `${mebibytes(2 * bytes + 2 ** 26)} of free space beside the old store; ${mebibytes(free)} were free at its start.`
  );
}

async function fill(
  log: FileLog,
  file: string,
  projectorsOf: ProjectorsOf,
  onProgress: (progress: PassProgress) => void,
  check: (projectors: readonly Group[]) => Promise<void>,
): Promise<Rebuilt> {
  const stores = await openStores(new StoreThreads(), { file, epochs: log.epochs });
  keepPositions(log, stores);
  try {
    await stores.checked;
    const projectors = projectorsOf({ suffix: '', ...stores });
    await check(projectors.map(({ group }) => group));
    const topics = new Set<AnyTopic>(projectors.flatMap(({ group }) => group.inputs));
    let records = 0;
    const take = async (some: readonly StreamRecord[]): Promise<void> => {
      await Promise.all(projectors.map((one) => deliver(one, some, forever)));
      records += some.length;
    };
    const unreadable = await readRecords(log, [...topics], take, (done) => onProgress({ step: 'rebuild', done, total: log.head }));
    for (const one of projectors) await one.checkpoint?.();
    await log.save(projectors.flatMap(({ group }) => positionsAt(group, log.head)));
    await stores.close();
    return { records, unreadable };
  } catch (cause) {
    await stores.crash();
    throw cause;
  }
}

/** The new store takes the old one's name once all of it is in its file and can be read. */
function replaceStore(fresh: string, old: string): void {
  try {
    settleStore(fresh);
    checkStore(fresh);
    settleOld(old);
  } catch (cause) {
    throw storeFailure(cause);
  }
  renameSync(fresh, old);
  sync(join(old, '..'));
}

/** A connection that only reads would leave files of its own beside the store. */
function checkStore(file: string): void {
  using db = openStoreForWriting(file);
  const [{ quick_check: found }] = db.prepare('PRAGMA quick_check(1)').all() as unknown as [{ quick_check: string }];
  if (found !== 'ok') throw new TelemetryError('store_corrupt', `The new store is damaged as it was written: ${found}.`);
}

/** The old store must stand until the new one has its name, without a write-ahead file that the new one would take for its own. */
function settleOld(file: string): void {
  try {
    settleStore(file);
  } catch (cause) {
    const failure = storeFailure(cause);
    // Of a damaged store nothing is worth keeping, so its write-ahead file goes. A store that is only unavailable now stays as it is.
    if (!(failure instanceof TelemetryError) || failure.code !== 'store_corrupt') throw failure;
    for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
  }
}

function positionsAt({ name: group, inputs }: Group, next: number): GroupPosition[] {
  return inputs.map(({ name: topic }) => ({ group, topic, partition: everyPartition, next }));
}
