import { join } from 'node:path';
import type { Clock } from '#edge';
import { inTime } from '#log';
import { OperatorError } from '#model';
import type { GenerationStore } from '#stores';
import type { Config } from './settings.js';

/** The log of a cluster, open. */
export type Kafka = Awaited<ReturnType<(typeof import('#kafka'))['openKafka']>>;

/** Is told what an operator should know. */
export type Report = (message: string) => void;

/** What stands behind the ports of a role. */
export interface Adapters {
  readonly kafka: Kafka;
  readonly stores: GenerationStore;
  close(): Promise<void>;
}

/**
 * Rejects OperatorError when a topic or a schema does not fit the contract.
 * @param openMs how long to wait for Kafka. After that the log is returned all the same, and says that it cannot be used yet.
 * @param correctTopics whether to correct the settings of existing topics.
 */
export async function openLog(config: Config, report: Report, openMs = 8_000, correctTopics = false): Promise<Kafka> {
  const { openKafka } = await import('#kafka');
  return openKafka({
    brokers: config.brokers,
    ...kafkaAccess(config),
    prefix: config.topicPrefix,
    replicationFactor: config.replication,
    minInsyncReplicas: config.replication > 2 ? 2 : 1,
    keepMs: config.keepLogMs,
    registry: { url: config.registryUrl, ...registryAccess(config) },
    schemaCacheFile: join(config.cacheDir, 'schemas.json'),
    sessionMs: config.sessionS * 1000,
    openMs,
    correctTopics,
    report,
  });
}

/** Opens the log for a piece of work of an operator's. */
export async function withLog<T>(config: Config, work: (kafka: Kafka) => Promise<T>): Promise<T> {
  const kafka = await openLog(config, () => undefined);
  try {
    return await work(kafka);
  } finally {
    await kafka.close();
  }
}

export async function openStores(config: Config, clock: Clock): Promise<GenerationStore> {
  const { openQuestDb } = await import('#questdb');
  const { questDbUrl: httpUrl, questDbPg: pgUrl, questDbCommit: commit, partitioning } = config;
  const { questDbUsername: username, questDbPassword: password, questDbToken: token, questDbCa: ca } = config;
  const tls = trusting(ca);
  return openQuestDb({ httpUrl, http: { username, password, token, tls }, pgUrl, pgTls: tls, clock, partitioning, commit });
}

/** An empty text is a setting that was not made. */
const trusting = (ca: string): { readonly ca?: string } => (ca ? { ca } : {});

type KafkaAccess = Pick<Parameters<(typeof import('#kafka'))['openKafka']>[0], 'tls' | 'sasl'>;

const kafkaAccess = (config: Config): KafkaAccess => ({
  ...(config.kafkaTls === 'on' && {
    tls: { ...trusting(config.kafkaCa), ...(config.kafkaCert && { cert: config.kafkaCert, key: config.kafkaKey }) },
  }),
  ...(config.kafkaSasl && { sasl: { mechanism: config.kafkaSasl, username: config.kafkaUsername, password: config.kafkaPassword } }),
});

const registryAccess = ({ registryUsername: username, registryPassword: password, registryToken: token, registryCa: ca }: Config) => ({
  username,
  password,
  token,
  tls: trusting(ca),
});

/**
 * Opens both, for work on the data plane.
 * @param patienceMs how long to wait for Kafka and the registry; OperatorError when they do not answer.
 * @param correctTopics whether to correct the settings of existing topics.
 */
export async function openAdapters(config: Config, report: Report, patienceMs = 30_000, correctTopics = false): Promise<Adapters> {
  const kafka = await openLog(config, report, 0, correctTopics);
  try {
    await inTime(kafka.opened, patienceMs, () => new OperatorError(`The log cannot be opened: ${kafka.health() ?? 'it does not answer'}`));
  } catch (cause) {
    await kafka.close();
    throw cause;
  }
  const stores = await openStores(config, Date.now);
  return {
    kafka,
    stores,
    close: async () => {
      await kafka.close();
      await stores.close();
    },
  };
}
