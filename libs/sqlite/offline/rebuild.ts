import { forever } from '#model';
import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyTopic, Processor } from '#log';
import { openDataFolder } from '../data-folder.js';
import { syncFolder } from '../durable-file.js';
import { everyPartition, type GroupPosition } from '../log/positions.js';
import type { SqliteLog } from '../log/sqlite-log.js';
import { storeFileName } from '../fitting-store.js';
import { openLog, portsOf, type Ports } from '../storage.js';
import { openStoreForWriting, removeStore } from '../store-file.js';
import { openStores, storeGroups } from '../stores.js';
import { logPieces, type Progress } from './log-pieces.js';

export interface Rebuilt {
  /** Records that were projected. */
  readonly records: number;
  /** Records that cannot be decoded. */
  readonly unreadable: number;
}

/** Makes the processors whose projections are concerned. */
export type ProcessorsOf = (ports: Ports) => readonly Processor[];

const freshName = `${storeFileName}.rebuilding`;

/**
 * Makes the store of a stopped server anew from its log, in a file beside the old one that then takes its name: whenever it is ended, one of
 * the two stands whole, and what it leaves behind is removed by the next one. The next start goes on at the log's end.
 * Rejects DataFolderError when the folder is in use, `log_corrupt`, `store_unavailable`, and whatever a processor rejects; the old store
 * then stands.
 */
export async function rebuild(
  dir: string,
  processorsOf: ProcessorsOf,
  onProgress: (progress: Progress) => void = () => {},
): Promise<Rebuilt> {
  await using opened = new AsyncDisposableStack();
  const folder = openDataFolder(dir);
  opened.defer(() => folder.release());
  const log = await openLog(folder);
  opened.defer(() => log.close());
  const end = log.head;
  const fresh = join(folder.path, freshName);
  removeStore(fresh);
  const rebuilt = await fill(log, end, fresh, processorsOf, onProgress);
  replaceStore(fresh, join(folder.path, storeFileName));
  return rebuilt;
}

async function fill(
  log: SqliteLog,
  end: number,
  file: string,
  processorsOf: ProcessorsOf,
  onProgress: (progress: Progress) => void,
): Promise<Rebuilt> {
  const stores = await openStores(file, log.epochs);
  log.keepWith(stores.positions, storeGroups);
  try {
    const groups = processorsOf(portsOf(log, stores));
    const topics = new Set<AnyTopic>(groups.flatMap(({ inputs }) => inputs));
    let [records, unreadable] = [0, 0];
    for await (const piece of logPieces(log, [...topics], end)) {
      await Promise.all(
        groups.map((one) =>
          one.process(
            piece.records.filter(({ topic }) => one.inputs.includes(topic)),
            forever,
          ),
        ),
      );
      records += piece.records.length;
      unreadable += piece.unreadable;
      onProgress({ step: 'rebuild', done: piece.next, total: end });
    }
    for (const one of groups) await one.checkpoint();
    await log.save(groups.flatMap((one) => positionsAt(one, end)));
    await stores.close();
    return { records, unreadable };
  } catch (cause) {
    await stores.crash();
    removeStore(file);
    throw cause;
  }
}

/** The old store's write-ahead file must not be there any more when the new store takes its name. */
function replaceStore(fresh: string, old: string): void {
  settle(old);
  renameSync(fresh, old);
  syncFolder(join(old, '..'));
}

/** Puts what waits in the write-ahead file into the store. Of a store so damaged that this fails, nothing can be kept. */
function settle(file: string): void {
  try {
    openStoreForWriting(file).close();
  } catch {
    // The old store is about to go.
  }
  for (const suffix of ['-wal', '-shm']) rmSync(`${file}${suffix}`, { force: true });
}

function positionsAt({ group, inputs }: Processor, next: number): GroupPosition[] {
  return inputs.map(({ name: topic }) => ({ group, topic, partition: everyPartition, next }));
}
