/** The adapter of data folders. */
export type Folders = typeof import('#sqlite');
export type { PassProgress as FolderProgress } from '#sqlite';

/** Works on a data folder. Rejects OperatorError when the folder cannot be used, such as while a server has it open. */
export async function onFolder<T>(work: (folders: Folders) => Promise<T>): Promise<T> {
  return work(await import('#sqlite'));
}
