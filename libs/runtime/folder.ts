import { StartError } from './start-error.js';

/** The adapter of data folders. */
export type Folders = typeof import('#sqlite');
export type { PassProgress as FolderProgress } from '#sqlite';

/** Works on a data folder. Rejects StartError when the folder cannot be used, such as while a server has it open. */
export async function onFolder<T>(work: (folders: Folders) => Promise<T>): Promise<T> {
  const folders = await import('#sqlite');
  try {
    return await work(folders);
  } catch (cause) {
    throw cause instanceof folders.DataFolderError ? new StartError(cause.message, { cause }) : cause;
  }
}
