import { Failure } from './failure.js';

type Runtime = typeof import('#runtime');

/** Works on the data plane that the environment names: Kafka, the registry and QuestDB. Rejects `Failure` for what the operator can mend. */
export async function onDataPlane<T>(work: (runtime: Runtime, config: ReturnType<Runtime['readConfig']>) => Promise<T>): Promise<T> {
  const runtime = await import('#runtime');
  try {
    return await work(runtime, runtime.readConfig(process.env));
  } catch (cause) {
    throw cause instanceof runtime.StartError ? new Failure(cause.message, undefined, { cause }) : cause;
  }
}

export const withoutDeletedFlag = {
  about: 'where Kafka has deleted records: make new tables without them all the same, and drop the old ones that have them',
};
