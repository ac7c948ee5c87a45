import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DataFolderError, formatFileName, formatIn, lockFiles, takeLock, unfinishedRestore } from '../data-folder.js';
import { sync, writeDurably } from '../durable-file.js';
import { logFolderName } from '../log/fault.js';
import { onDisk } from '../disk-fault.js';
import { isBackedUp, type Manifest } from './manifest.js';
import { readBackup, type Take } from './read-backup.js';
import { told, writeFile } from './write-file.js';

/** The format of the folder that is made, until it is whole; `writeDurably` leaves the same when it is ended. */
const freshFormat = `${formatFileName}.new`;
const maxFormatBytes = 1024;

/** Hears how many bytes more were checked, and then written. */
export type RestoreProgress = (step: 'check' | 'write', bytes: number) => void;

/**
 * Makes a data folder of a backup. All of the backup is read and checked before the folder is touched. From its first file to its last no server opens
 * the folder, because its format says that it is being restored; whenever the restore is ended, the next one begins anew.
 *
 * Rejects DataFolderError when the backup is not whole, when the folder is not empty, or when it cannot be written: then nothing is left in it.
 */
export async function restore(backup: string, dir: string, onProgress: RestoreProgress = () => {}): Promise<Manifest> {
  const folder = resolve(dir);
  refuseOccupied(folder);
  let format = '';
  const manifest = await onDisk(`Reading ${backup}`, () =>
    readBackup(backup, async (name, bytes) => {
      for await (const piece of bytes) {
        if (name === formatFileName) format += Buffer.from(piece).toString('latin1', 0, maxFormatBytes - format.length);
        onProgress('check', piece.length);
      }
    }),
  );
  formatIn(`the backup ${backup}`, format);
  await onDisk(`Restoring into ${folder}`, () =>
    write(folder, (take) =>
      readBackup(backup, (name, bytes) =>
        take(
          name,
          told(bytes, (more) => onProgress('write', more)),
        ),
      ),
    ),
  );
  return manifest;
}

async function write(folder: string, read: (take: Take) => Promise<Manifest>): Promise<void> {
  const made = mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (made) sync(dirname(made));
  const lock = takeLock(folder);
  if (!lock) throw new DataFolderError(`The data folder ${folder} is in use: stop what has it open, or name another folder.`);
  using releasing = new DisposableStack();
  releasing.defer(() => lock.release());
  refuseOccupied(folder);
  try {
    writeDurably(join(folder, formatFileName), unfinishedRestore);
    removeFiles(folder);
    mkdirSync(join(folder, logFolderName), { mode: 0o700 });
    await read(async (name, bytes) => void (await writeFile(join(folder, name === formatFileName ? freshFormat : name), bytes)));
    for (const path of [join(folder, logFolderName), folder]) sync(path);
  } catch (cause) {
    removeFiles(folder);
    for (const name of [freshFormat, formatFileName]) rmSync(join(folder, name), { force: true });
    lock.release();
    for (const name of lockFiles) rmSync(join(folder, name), { force: true });
    if (made) rmdirSync(folder);
    throw cause;
  }
  renameSync(join(folder, freshFormat), join(folder, formatFileName));
  sync(folder);
}

/** @throws DataFolderError unless a folder is absent, empty, or what a restore that was ended has left. */
function refuseOccupied(folder: string): void {
  if (!existsSync(folder)) return;
  const isUnfinished = existsSync(join(folder, formatFileName)) && readFileSync(join(folder, formatFileName), 'utf8') === unfinishedRestore;
  const mayBe = (name: string): boolean =>
    [...lockFiles, freshFormat, 'lost+found'].includes(name) || (isUnfinished && (name === logFolderName || isBackedUp(name)));
  const found = readdirSync(folder).find((name) => !mayBe(name));
  if (found === undefined) return;
  throw new DataFolderError(`${folder} is not empty, it has ${found} in it: move it away first, or name another folder.`);
}

/** Removes everything but the format. */
function removeFiles(folder: string): void {
  for (const name of readdirSync(folder)) {
    if (name === logFolderName || (isBackedUp(name) && name !== formatFileName)) rmSync(join(folder, name), { recursive: true });
  }
}
