import { artifact as kafka } from './kafka.js';
import { fetched, java } from './maven.js';
import { artifact as questDb } from './questdb.js';
import { artifact as registry } from './registry.js';

export { freePorts, isFree } from './free-ports.js';
export { endWithUs, JavaServer, smallHeap } from './java-server.js';
export { asEnvironment, kafkaSettings, startKafka, type KafkaOptions, type KafkaServers } from './kafka.js';
export type { KafkaSecurity } from './kafka-security.js';
export { questDbSettings, startQuestDb, type QuestDbOptions, type QuestDbServer } from './questdb.js';
export { startRegistry, type RegistryServer } from './registry.js';

/** Kafka, a schema registry and QuestDB, and how to end them. */
export interface Servers {
  /** The variables with which the roles find them. */
  readonly environment: Readonly<Record<string, string>>;
  /** Resolves when one of them has ended by itself, to a sentence that says which and how. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
}

/** The servers as container images, of the same versions as the jars. */
export const images = {
  kafka: `apache/kafka:${kafka.version}`,
  registry: `apicurio/apicurio-registry:${registry.version}`,
  questDb: `questdb/questdb:${questDb.version}`,
};

/** Resolves when each server can be started here from jars. Rejects with a sentence when Java or Maven is missing. */
export async function fetchServers(): Promise<void> {
  await java();
  await Promise.all([kafka, registry, questDb].map(fetched));
}
