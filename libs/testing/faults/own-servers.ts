import { join } from 'node:path';
import {
  startKafka,
  startQuestDb,
  startRegistry,
  type KafkaServers,
  type QuestDbServer,
  type RegistryServer,
} from '../../../infra/servers/index.js';

/** Servers of a suite's own, which it may kill. */
export interface OwnServers {
  readonly kafka: KafkaServers;
  readonly registry: RegistryServer;
  readonly questDb: QuestDbServer;
  /** How roles are told of them. */
  readonly environment: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Starts them with their data in a folder. */
export async function startOwnServers(folder: string, brokers: 1 | 3): Promise<OwnServers> {
  const [kafka, registry, questDb] = await Promise.all([
    startKafka({ folder: join(folder, 'kafka'), brokers }),
    startRegistry({ folder: join(folder, 'registry') }),
    startQuestDb({ folder: join(folder, 'questdb') }),
  ]);
  return {
    kafka,
    registry,
    questDb,
    environment: {
      HEADWATER_KAFKA_BROKERS: kafka.brokers.join(),
      HEADWATER_KAFKA_REPLICATION: String(brokers),
      HEADWATER_REGISTRY_URL: registry.url,
      HEADWATER_QUESTDB_URL: questDb.httpUrl,
      HEADWATER_QUESTDB_PG: questDb.pgUrl,
    },
    stop: async () => void (await Promise.all([kafka, registry, questDb].map((server) => server.stop()))),
  };
}
