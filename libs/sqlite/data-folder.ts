import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sync, writeDurably } from './durable-file.js';
import { takeLock, type LockFile } from './lock-file.js';

/** The format of the files in a folder. This version must not touch a folder with a greater number. */
const formatVersion = 2;
/** What the file of the format says in a folder of this version. */
export const formatText = `headwater ${formatVersion}\n`;
export const formatFileName = 'FORMAT';
/** What it says while a folder is being restored: no version opens such a folder. */
export const unfinishedRestore = 'unfinished restore\n';

export const lockFileName = 'lock';
/** The lock, and what SQLite keeps beside it. */
export const lockFiles = [lockFileName, `${lockFileName}-journal`];

/** The folder cannot be used; the message is for the person who starts the server and names the folder. */
export class DataFolderError extends Error {
  override readonly name = 'DataFolderError';
}

/** A data folder that nobody else can open until it is released or this process ends, even by a crash. */
export interface DataFolder {
  readonly path: string;
  /** To be called before this version writes what older ones do not know: these then refuse the folder. */
  noteFormat(): void;
  release(): void;
}

/**
 * Opens a data folder, and makes it if there is none.
 * @throws DataFolderError when a newer version wrote it, before anything in it is touched, or when another storage has it open.
 */
export function openDataFolder(dir: string): DataFolder {
  const path = resolve(dir);
  const format = join(path, formatFileName);
  refuseNewer(path, format);
  const lock = lockFolder(path);
  const noteFormat = (): void => {
    if (!existsSync(format) || readFileSync(format, 'utf8') !== formatText) writeDurably(format, formatText);
  };
  return { path, noteFormat, release: () => lock.release() };
}

function refuseNewer(path: string, format: string): void {
  if (!existsSync(format)) return;
  const text = readFileSync(format, 'utf8');
  if (text === unfinishedRestore)
    throw new DataFolderError(`A restore into the data folder ${path} did not come to its end: run \`headwater restore\` again.`);
  refuseFormat(`the data folder ${path}`, text);
}

/** @throws DataFolderError when this version must not touch what has a FORMAT file with this text. */
export function refuseFormat(what: string, text: string): void {
  const version = Number(/^headwater (\d+)\n?$/.exec(text)?.[1]);
  if (version <= formatVersion) return;
  throw new DataFolderError(
    Number.isNaN(version)
      ? `The FORMAT file of ${what} is not one of ours: name another folder, or restore this one from a copy.`
      : `${what.replace(/^t/, 'T')} has format ${version} and this version knows formats up to ${formatVersion}: start the version that wrote it, or a newer one.`,
  );
}

function lockFolder(path: string): LockFile {
  let lock: LockFile | undefined;
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made) sync(dirname(made));
    lock = takeLock(join(path, lockFileName));
  } catch (cause) {
    throw new DataFolderError(`The data folder ${path} cannot be used: ${(cause as Error).message}.`, { cause });
  }
  if (lock) return lock;
  throw new DataFolderError(`The data folder ${path} is in use: stop the server that has it open, or name another folder.`);
}
