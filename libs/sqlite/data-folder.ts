import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { sync, writeDurably } from './durable-file.js';
import { takeLock, type LockFile } from './lock-file.js';

/** The format of the files in a folder. This version must not touch a folder with a greater number. */
const formatVersion = 2;

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
  const format = join(path, 'FORMAT');
  refuseNewer(path, format);
  const lock = lockFolder(path);
  const text = `headwater ${formatVersion}\n`;
  const noteFormat = (): void => {
    if (!existsSync(format) || readFileSync(format, 'utf8') !== text) writeDurably(format, text);
  };
  return { path, noteFormat, release: () => lock.release() };
}

function refuseNewer(path: string, format: string): void {
  if (!existsSync(format)) return;
  const version = Number(/^headwater (\d+)\n?$/.exec(readFileSync(format, 'utf8'))?.[1]);
  if (version <= formatVersion) return;
  throw new DataFolderError(
    Number.isNaN(version)
      ? `The FORMAT file of the data folder ${path} is not one of ours: name another folder, or restore this one from a copy.`
      : `The data folder ${path} has format ${version} and this version knows formats up to ${formatVersion}: start the version that wrote it, or a newer one.`,
  );
}

function lockFolder(path: string): LockFile {
  let lock: LockFile | undefined;
  try {
    const made = mkdirSync(path, { recursive: true, mode: 0o700 });
    if (made) sync(dirname(made));
    lock = takeLock(join(path, 'lock'));
  } catch (cause) {
    throw new DataFolderError(`The data folder ${path} cannot be used: ${(cause as Error).message}.`, { cause });
  }
  if (lock) return lock;
  throw new DataFolderError(`The data folder ${path} is in use: stop the server that has it open, or name another folder.`);
}
