import { TelemetryError } from '#model';
import { Failure } from './failure.js';

type Runtime = typeof import('#runtime');

/** Works on the data plane that the environment names: Kafka, the registry and QuestDB. Rejects `Failure` for what the operator can mend. */
export async function onDataPlane<T>(work: (runtime: Runtime, config: ReturnType<Runtime['readConfig']>) => Promise<T>): Promise<T> {
  const runtime = await import('#runtime');
  try {
    return await work(runtime, runtime.readConfig(process.env));
  } catch (cause) {
    if (cause instanceof runtime.StartError) throw new Failure(cause.message, undefined, { cause });
    if (cause instanceof TelemetryError && cause.retryable) throw new Failure(`${cause.message} ${whereItIs}`, undefined, { cause });
    throw cause;
  }
}

const whereItIs =
  'Check that it runs, and that HEADWATER_KAFKA_BROKERS, HEADWATER_REGISTRY_URL and HEADWATER_QUESTDB_URL say where; ' +
  '`npm run cluster` starts all of it and writes them to data/cluster/environment.';

export const withoutDeletedFlag = {
  about: 'where Kafka has deleted records: make new tables without them all the same, and drop the old ones that have them',
};
