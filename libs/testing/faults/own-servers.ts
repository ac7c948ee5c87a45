import { join } from 'node:path';
import {
  startKafka,
  startQuestDb,
  startRegistry,
  type KafkaSecurity,
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

/** Starts them with their data in a folder. @param how settings of QuestDB are variables of its environment. */
export async function startOwnServers(
  folder: string,
  brokers: 1 | 3,
  { security, questDb: settings = {} }: { readonly security?: KafkaSecurity; readonly questDb?: Readonly<Record<string, string>> } = {},
): Promise<OwnServers> {
  const [kafka, registry, questDb] = await Promise.all([
    startKafka({ folder: join(folder, 'kafka'), brokers, security }),
    startRegistry({ folder: join(folder, 'registry') }),
    startQuestDb({ folder: join(folder, 'questdb'), settings }),
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
