import type { DeadLetters, Groups, RecordLog, Views } from '#log';
import { offline } from './data-folder.js';
import { onDataPlane } from './data-plane.js';
import { Failure } from './failure.js';

type Runtime = typeof import('#runtime');

interface LogPorts {
  readonly log: RecordLog;
  readonly views: Views;
  readonly groups: Groups;
  readonly deadLetters: DeadLetters;
}

/** Works on the log of a stopped server's data folder, or of the data plane where none is named. Rejects `Failure` for what the operator can mend. */
export async function withLog<T>(dir: string | undefined, work: (ports: LogPorts, runtime: Runtime) => Promise<T>): Promise<T> {
  if (dir === undefined) return onDataPlane((runtime, config) => runtime.withLog(config, (kafka) => work(kafka, runtime)));
  const [{ openStorage }, runtime] = await Promise.all([import('#sqlite'), import('#runtime')]);
  const storage = await offline(dir, () => openStorage(dir));
  try {
    return await work(storage, runtime);
  } catch (cause) {
    throw cause instanceof runtime.StartError ? new Failure(cause.message, undefined, { cause }) : cause;
  } finally {
    await storage.close();
  }
}
