import type { Storage } from '#sqlite';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Failure } from './failure.js';

/** The flag of the commands that open the data folder of a server themselves. */
export const dataFlag = { value: 'DIR', about: 'data folder of a server that is stopped' } as const;

/** Does `work` on the data of a server that is stopped. Rejects `Failure` when the folder is none or a server has it open. */
export async function withStorage<T>(dir: string, work: (storage: Storage) => Promise<T>): Promise<T> {
  const { DataFolderError, openStorage } = await import('#sqlite');
  if (!existsSync(join(dir, 'FORMAT')))
    throw new Failure(`${dir} is not a data folder of a server: name the one that HEADWATER_DATA names.`);
  const storage = await openStorage(dir).catch((cause: unknown) => {
    throw cause instanceof DataFolderError ? new Failure(cause.message, undefined, { cause }) : cause;
  });
  try {
    return await work(storage);
  } finally {
    await storage.close();
  }
}
