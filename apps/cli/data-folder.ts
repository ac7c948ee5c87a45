import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Progress } from '#sqlite';
import { Failure } from './failure.js';
import type { Io } from './io.js';

/** The flag of the commands that open the data folder of a server themselves. */
export const dataFlag = { value: 'DIR', about: 'data folder of a server that is stopped' } as const;

/** Does `work` on the data folder of a server that is stopped. Rejects `Failure` when the folder is none or a server has it open. */
export async function offline<T>(dir: string, work: () => Promise<T>): Promise<T> {
  const { DataFolderError } = await import('#sqlite');
  if (!existsSync(join(dir, 'FORMAT')))
    throw new Failure(`${dir} is not a data folder of a server: name the one that HEADWATER_DATA names.`);
  try {
    return await work();
  } catch (cause) {
    throw cause instanceof DataFolderError ? new Failure(cause.message, undefined, { cause }) : cause;
  }
}

const doing: Readonly<Record<Progress['step'], string>> = { rebuild: 'Rebuilding', count: 'Reading the log', compare: 'Comparing' };

/** Shows how far work on a log is. */
export const shownProgress =
  (io: Io): ((progress: Progress) => void) =>
  ({ step, done, total }) =>
    io.progress(() => `${doing[step]}: ${total > 0 ? Math.floor((done / total) * 100) : 100} %`);
