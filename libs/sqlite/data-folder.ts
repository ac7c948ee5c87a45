import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { OperatorError } from '#model';
import { makePrivate, sync, writeDurably } from './durable-file.js';

/**
 * The formats of the files in a folder: in the second, the log may begin later than with its first record, and the store may have archives in place of
 * points; in the third, the log may have deletions too.
 */
export const folderFormats = { ordinary: 2, dropped: 3, deleted: 4 } as const;

/** This version must not touch a folder with a greater number. */
const newestFormat = folderFormats.deleted;

export const formatFileName = 'FORMAT';
/** What it says while a folder is being restored: no version opens such a folder. */
export const unfinishedRestore = 'unfinished restore\n';

const lockFileName = 'lock';
/** The lock, and what SQLite keeps beside it. */
export const lockFiles = [lockFileName, `${lockFileName}-journal`];
/** What SQLite answers when another connection holds the lock. */
const busy = 5;

/** The folder cannot be used; the message is for the person who starts the server and names the folder. */
export class DataFolderError extends OperatorError {
  override readonly name = 'DataFolderError';
}

/** A data folder that nobody else can open until it is released or this process ends, even by a crash. */
export interface DataFolder {
  readonly path: string;
  /** To be called before this version writes what older ones do not know: these then refuse the folder. It never becomes a lower one. */
  noteFormat(format?: number): void;
  release(): void;
}

/**
 * Opens a data folder, and makes it if there is none.
 * @throws DataFolderError when a newer version wrote it, before anything in it is touched, or when another storage has it open.
 */
export function openDataFolder(dir: string): DataFolder {
  const path = resolve(dir);
  checkFormat(path);
  const lock = lockFolder(path);
  const noteFormat = (format: number = folderFormats.ordinary): void => {
    if (checkFormat(path) < format) writeDurably(join(path, formatFileName), `headwater ${format}\n`);
  };
  return { path, noteFormat, release: () => lock.release() };
}

/** The format of a folder; 0 where none is said. @throws DataFolderError when this version must not touch it. */
function checkFormat(path: string): number {
  const file = join(path, formatFileName);
  const text = existsSync(file) ? readFileSync(file, 'utf8') : undefined;
  if (text === unfinishedRestore)
    throw new DataFolderError(`A restore into the data folder ${path} did not come to its end: run \`headwater restore\` again.`);
  return text === undefined ? 0 : formatIn(`the data folder ${path}`, text);
}

/**
 * The format that a FORMAT file with this text says.
 * @throws DataFolderError when this version must not touch what has it.
 */
export function formatIn(what: string, text: string): number {
  const format = Number(/^headwater (\d+)\n?$/.exec(text)?.[1]);
  if (format <= newestFormat) return format;
  throw new DataFolderError(
    Number.isNaN(format)
      ? `The FORMAT file of ${what} is not one of ours: name another folder, or restore this one from a copy.`
      : `${what.replace(/^t/, 'T')} has format ${format} and this version knows formats up to ${newestFormat}: start the version that wrote it, or a newer one.`,
  );
}

function lockFolder(path: string): FolderLock {
  let lock: FolderLock | undefined;
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made) sync(dirname(made));
    lock = takeLock(path);
  } catch (cause) {
    throw new DataFolderError(`The data folder ${path} cannot be used: ${(cause as Error).message}.`, { cause });
  }
  if (lock) return lock;
  throw new DataFolderError(`The data folder ${path} is in use: stop the server that has it open, or name another folder.`);
}

/** A folder that is locked until it is released or the process ends, even by a crash. */
export interface FolderLock {
  release(): void;
}

/**
 * Takes the lock of a folder that exists. Undefined when this process or another has the lock. Throws when the file of the lock cannot be used.
 */
export const takeLock = (folder: string): FolderLock | undefined => lockBy(join(folder, lockFileName));

/** The same for whatever a file of its own stands for. */
export function lockBy(file: string): FolderLock | undefined {
  makePrivate(file);
  const lock = new DatabaseSync(file);
  try {
    // An exclusive transaction that never ends: the operating system frees it with the process, and it also keeps out our own threads.
    lock.exec('BEGIN EXCLUSIVE');
  } catch (cause) {
    lock.close();
    if ((cause as { errcode?: number }).errcode === busy) return undefined;
    throw cause;
  }
  return { release: () => void (lock.isOpen && lock.close()) };
}
