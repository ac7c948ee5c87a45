import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DeadLetters, Groups, RecordLog, Views } from '#log';
import { OperatorError, TelemetryError } from '#model';
import type { FolderProgress, Folders } from '#runtime';
import { Failure } from './failure.js';
import type { Io } from './io.js';

type Runtime = typeof import('#runtime');

/** The flag of the commands that open the data folder of a server themselves. */
export const dataFlag = { value: 'DIR', about: 'data folder of a server that is stopped' } as const;

/** Does `work` on the data folder of a server that is stopped. Rejects `Failure` when the folder is none or a server has it open. */
export async function offline<T>(dir: string, work: (folders: Folders, runtime: Runtime) => Promise<T>): Promise<T> {
  if (!existsSync(join(dir, 'FORMAT')))
    throw new Failure(`${dir} is not a data folder of a server: name the one that HEADWATER_DATA names.`);
  return onFolders(work);
}

/** Does `work` on data folders. Rejects `Failure` for what the operator can mend. */
export const onFolders = <T>(work: (folders: Folders, runtime: Runtime) => Promise<T>): Promise<T> =>
  mendable((runtime) => runtime.onFolder((folders) => work(folders, runtime)));

/** Rejects `Failure` in place of what is said to an operator. */
async function mendable<T>(work: (runtime: Runtime) => Promise<T>): Promise<T> {
  try {
    return await work(await import('#runtime'));
  } catch (cause) {
    throw cause instanceof OperatorError ? new Failure(cause.message, undefined, { cause }) : cause;
  }
}

const doing: Readonly<Record<FolderProgress['step'], string>> = { rebuild: 'Rebuilding', count: 'Reading the log', compare: 'Comparing' };

/** Shows how far work on a log is. */
export const shownProgress =
  (io: Io): ((progress: FolderProgress) => void) =>
  ({ step, done, total }) =>
    io.progress(() => `${doing[step]}: ${total > 0 ? Math.floor((done / total) * 100) : 100} %`);

/** Works on the data plane that the environment names: Kafka, the registry and QuestDB. Rejects `Failure` for what the operator can mend. */
export async function onDataPlane<T>(work: (runtime: Runtime, config: ReturnType<Runtime['readConfig']>) => Promise<T>): Promise<T> {
  try {
    return await mendable((runtime) => work(runtime, runtime.readConfig(process.env)));
  } catch (cause) {
    if (cause instanceof TelemetryError && cause.retryable) throw new Failure(`${cause.message} ${whereItIs}`, undefined, { cause });
    throw cause;
  }
}

const whereItIs =
  'Check that it runs, and that HEADWATER_KAFKA_BROKERS, HEADWATER_REGISTRY_URL and HEADWATER_QUESTDB_URL say where; ' +
  '`npm run cluster` starts all of it and writes them to data/cluster/environment.';

export const withoutDeletedFlag = {
  about: 'where records were deleted from the log: make new projections without them all the same, and drop the old ones that have them',
};

export interface LogPorts {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: Groups;
  readonly deadLetters: DeadLetters;
}

/** Works on the log of a stopped server's data folder, or of the data plane where none is named. Rejects `Failure` for what the operator can mend. */
export async function withLog<T>(dir: string | undefined, work: (ports: LogPorts, runtime: Runtime) => Promise<T>): Promise<T> {
  if (dir === undefined) return onDataPlane((runtime, config) => runtime.withLog(config, (kafka) => work(kafka, runtime)));
  return offline(dir, async ({ openStorage }, runtime) => {
    const storage = await openStorage(dir);
    try {
      return await work(storage, runtime);
    } finally {
      await storage.close();
    }
  });
}
