import { renameSync, rmSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { DataFolderError, lockBy } from '../data-folder.js';
import { sync } from '../durable-file.js';
import { onDisk } from '../disk-fault.js';
import { BackupFolder } from './backup-folder.js';
import type { Manifest } from './manifest.js';
import { readBackup, readStream } from './read-backup.js';
import { takeSnapshot } from './snapshot.js';
import { tarOf } from './tar-backup.js';
import { told, writeFile, type Bytes } from './write-file.js';

export interface BackedUp extends Manifest {
  /** Of the files that were written: those that the last backup in the same folder had are kept. */
  readonly written: number;
}

/** Where a backup comes from: a data folder, or the tar file that a server sends, with its address. */
export type BackupSource = { readonly data: string } | { readonly from: string; readonly stream: AsyncIterable<Uint8Array> };

/** Is called with how many more bytes were written. */
export type Progress = (bytes: number) => void;

/** Whether a backup of this name is one file. */
export const isTarName = (to: string): boolean => to.endsWith('.tar');

/**
 * Makes a backup of a data folder, whether a server has it open or not, into a tar file or into a folder with an earlier backup. That one stands until
 * this one is whole.
 * Rejects DataFolderError, `log_corrupt` when what would be copied is damaged, and `store_corrupt`.
 */
export function backup(source: BackupSource, to: string, onProgress: Progress = () => {}): Promise<BackedUp> {
  const path = resolve(to);
  return onDisk(`The backup into ${path}`, () => (isTarName(path) ? intoFile : intoFolder)(source, path, onProgress));
}

async function intoFolder(source: BackupSource, path: string, onProgress: Progress): Promise<BackedUp> {
  const folder = new BackupFolder(path);
  const put = async (name: string, bytes: Bytes): Promise<void> => {
    await folder.put(name, told(bytes, onProgress));
  };
  try {
    if ('stream' in source) {
      const { head, madeMs } = await readStream(source.stream, source.from, put);
      return { ...folder.finish(head, madeMs), written: folder.bytes };
    }
    const madeMs = Date.now();
    using snapshot = await takeSnapshot(source.data, folder.scratch('store'));
    for (const file of snapshot.files) if (!folder.keep(file)) await put(file.name, file.bytes());
    snapshot.checkLog();
    return { ...folder.finish(snapshot.head, madeMs), written: folder.bytes };
  } finally {
    folder.close();
  }
}

/** Two at once would write the same files: one of them could end with what the other has half written. */
async function intoFile(source: BackupSource, path: string, onProgress: Progress): Promise<BackedUp> {
  const lockName = `${path}.lock`;
  const lock = lockBy(lockName);
  if (!lock) throw new DataFolderError(`Another backup into ${path} is being made: wait for it, or name another file.`);
  try {
    return await intoLockedFile(source, path, onProgress);
  } finally {
    lock.release();
    for (const suffix of ['', '-journal']) rmSync(`${lockName}${suffix}`, { force: true });
  }
}

async function intoLockedFile(source: BackupSource, path: string, onProgress: Progress): Promise<BackedUp> {
  const fresh = `${path}.new`;
  try {
    if ('stream' in source) await writeFile(fresh, told(source.stream, onProgress));
    else {
      using snapshot = await takeSnapshot(source.data, `${path}.store`);
      await writeFile(fresh, told(tarOf(snapshot, Date.now()), onProgress));
    }
    const manifest = await readBackup(fresh, drain);
    renameSync(fresh, path);
    sync(dirname(path));
    return { ...manifest, written: manifest.files.reduce((sum, { size }) => sum + size, 0) };
  } catch (cause) {
    rmSync(fresh, { force: true });
    throw cause;
  }
}

async function drain(_: string, bytes: Bytes): Promise<void> {
  for await (const _piece of bytes);
}
