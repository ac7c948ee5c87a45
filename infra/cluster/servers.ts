import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { startKafka, startQuestDb, startRegistry, type JavaServer, type Servers } from '../servers/index.js';

export interface JarServers extends Servers {
  readonly kafka: JavaServer;
  readonly questDb: JavaServer;
  readonly questDbUrl: string;
}

/**
 * Starts the three from jars that Maven fetches, with their data in a folder. Rejects with a sentence when Java or Maven is missing.
 * @param keptSchemas whether the registry keeps its schemas for the next run, for which it takes half a minute longer to start.
 */
export async function startFromJars(folder: string, { keptSchemas = true } = {}): Promise<JarServers> {
  const running = new AsyncDisposableStack();
  try {
    const kafka = await startKafka({ folder: join(folder, 'kafka'), brokers: 1 });
    running.defer(() => kafka.stop());
    const [registry, questDb] = await Promise.all([
      startRegistry({ folder: join(folder, 'registry'), ...(keptSchemas && { kafka: kafka.brokers }) }),
      startQuestDb({ folder: join(folder, 'questdb') }),
    ]);
    running.defer(() => registry.stop());
    running.defer(() => questDb.stop());
    const environment = {
      HEADWATER_KAFKA_BROKERS: kafka.brokers.join(','),
      HEADWATER_REGISTRY_URL: registry.url,
      HEADWATER_QUESTDB_URL: questDb.httpUrl,
      HEADWATER_QUESTDB_PG: questDb.pgUrl,
    };
    return {
      environment,
      kafka: kafka.servers[0]!,
      questDb: questDb.server,
      questDbUrl: questDb.httpUrl,
      ended: Promise.race([...kafka.servers, registry.server, questDb.server].map(({ ended }) => ended)),
      stop: () => running.disposeAsync(),
    };
  } catch (cause) {
    await running.disposeAsync();
    throw cause;
  }
}

/** QuestDB takes about 8 memory maps for each partition that is open, and ends when the system gives it no more. */
const enoughMaps = 1_048_576;

function warnOfFewMaps(say: (line: string) => void): void {
  const file = '/proc/sys/vm/max_map_count';
  const maxMaps = existsSync(file) ? Number(readFileSync(file, 'utf8')) : enoughMaps;
  if (maxMaps < enoughMaps)
    say(
      `QuestDB may end when many days are open: vm.max_map_count is ${maxMaps}. \`sysctl -w vm.max_map_count=${enoughMaps}\` as root mends that.`,
    );
}

/** Starts the three as containers when there is an engine for them, else from jars; says which before it begins. */
export async function startServers(folder: string, say: (line: string) => void): Promise<Servers> {
  const { containerEngine, dataVolumes, startContainers } = await import('./containers.js');
  const engine = await containerEngine();
  const volumes = engine && dataVolumes(folder);
  say(
    volumes
      ? `Kafka, a schema registry and QuestDB come from ${engine}, with their data in its volumes ${volumes.kafka} and ${volumes.questDb}.`
      : `There is no Docker engine: Kafka, a schema registry and QuestDB come from jars that Maven fetches once, with their data in ${folder}.`,
  );
  warnOfFewMaps(say);
  return volumes ? startContainers(volumes) : startFromJars(folder);
}
