import { statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DataFolderError } from '../data-folder.js';
import { removeStore, storeCopyName, storeFileName } from '../store-file.js';
import { WorkerThread } from '../worker.js';
import type { BackupTask } from './backup.worker.js';
import { onDisk } from '../disk-fault.js';
import { copyStore } from './snapshot.js';

/** What must stay free on the disk of the data folder beside the copy of the store. */
const spareBytes = 256 << 20;

/**
 * A backup of a data folder as a tar file, made by the process that has it open: the event loop is not held up, and no more of it is in memory than the
 * reader has asked for. Ended early, it leaves nothing. Rejects DataFolderError when the disk has no room for a copy of the store.
 */
export async function* backupStream(dataFolder: string, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  refuseFullDisk(dataFolder);
  const thread = await onDisk('Copying the store', () => startThread(dataFolder, signal));
  try {
    for (let piece; (piece = await thread.call<Uint8Array | undefined>('next')); signal.throwIfAborted()) yield piece;
  } finally {
    await thread.terminate();
  }
}

/** The thread has the copy of the store open, which needs no name then. */
async function startThread(dataFolder: string, signal: AbortSignal): Promise<WorkerThread> {
  const copy = join(dataFolder, storeCopyName);
  try {
    const madeMs = Date.now();
    const store = await copyStore(dataFolder, copy);
    signal.throwIfAborted();
    const thread = new WorkerThread(new URL('./backup.worker.js', import.meta.url), 'log_unavailable');
    await thread.open({ dataFolder, store, madeMs } satisfies BackupTask);
    return thread;
  } finally {
    removeStore(copy);
  }
}

function refuseFullDisk(dataFolder: string): void {
  const { bavail, bsize } = statfsSync(dataFolder);
  const sizeOf = (name: string): number => statSync(join(dataFolder, name), { throwIfNoEntry: false })?.size ?? 0;
  const bytes = sizeOf(storeFileName) + sizeOf(`${storeFileName}-wal`) + spareBytes;
  if (bavail * bsize >= bytes) return;
  throw new DataFolderError(
    `A copy of the store needs ${Math.ceil(bytes / 1e6)} MB of free space on the disk of the data folder for a while: make room, or back up with \`--data\`.`,
  );
}
