import type { Admin, PartitionMetadata } from 'kafkajs';
import type { AnyTopic } from '#log';
import type { Asker } from './asker.js';
import { kafkajs } from './kafkajs.js';
import { deadLettersOf } from './names.js';

export interface TopicSettings {
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
}

interface Wanted {
  /** As Kafka calls it. */
  readonly name: string;
  readonly partitions: number;
  readonly config: Readonly<Record<string, string>>;
}

/** A topic differs from the contract in a way that re-maps its keys. */
export class TopicMismatch extends Error {}

/**
 * Makes the topics that are missing, with one for dead letters beside each; none is ever changed or deleted.
 * Resolves with a sentence for each setting that differs. Rejects TopicMismatch when a number of partitions differs, `log_unavailable` when
 * Kafka cannot be reached.
 */
export async function ensureTopics(
  asker: Asker,
  prefix: string,
  topics: readonly AnyTopic[],
  settings: TopicSettings,
): Promise<readonly string[]> {
  const wanted = topics.flatMap((topic) => [
    asWanted(prefix, topic, settings),
    asWanted(prefix, { ...topic, name: deadLettersOf(topic.name), cleanup: 'delete', partitions: 1 }, settings, 2 << 20),
  ]);
  const there = new Set(await asker.ask((admin) => admin.listTopics()));
  const missing = wanted.filter(({ name }) => !there.has(name));
  if (missing.length > 0) await asker.ask((admin) => create(admin, missing, settings.replicationFactor));
  const found = await asker.ask((admin) => partitionsOf(admin, wanted));
  comparePartitions(found, wanted);
  return [
    ...replicationDifferences(found, wanted, settings.replicationFactor),
    ...differences(await asker.ask((admin) => settingsOf(admin, wanted)), wanted),
  ];
}

function asWanted(prefix: string, topic: AnyTopic, { minInsyncReplicas }: TopicSettings, maxBytes?: number): Wanted {
  return {
    name: prefix + topic.name,
    partitions: topic.partitions,
    config: {
      'cleanup.policy': topic.cleanup,
      ...(topic.cleanup === 'delete' && { 'retention.ms': '-1' }),
      ...(maxBytes && { 'max.message.bytes': String(maxBytes) }),
      'min.insync.replicas': String(minInsyncReplicas),
      // The broker's clock: a record whose writer is ahead would be refused.
      'message.timestamp.type': 'LogAppendTime',
    },
  };
}

/** Another process may make them at the same time. */
async function create(admin: Admin, missing: readonly Wanted[], replicationFactor: number): Promise<void> {
  await admin.createTopics({
    topics: missing.map(({ name, partitions, config }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor,
      configEntries: Object.entries(config).map(([key, value]) => ({ name: key, value })),
    })),
    waitForLeaders: true,
  });
}

/** The partitions of each topic, by name. */
type Found = ReadonlyMap<string, readonly PartitionMetadata[]>;

async function partitionsOf(admin: Admin, wanted: readonly Wanted[]): Promise<Found> {
  const { topics } = await admin.fetchTopicMetadata({ topics: wanted.map(({ name }) => name) });
  return new Map(topics.map(({ name, partitions }) => [name, partitions]));
}

function comparePartitions(found: Found, wanted: readonly Wanted[]): void {
  const wrong = wanted.filter(({ name, partitions }) => found.get(name)?.length !== partitions);
  if (wrong.length === 0) return;
  const sentences = wrong.map(
    ({ name, partitions }) => `topic ${name} has ${found.get(name)?.length} partitions, and the contract says ${partitions}`,
  );
  throw new TopicMismatch(`${sentences.join('; ')}: another number puts keys elsewhere, so it takes a new topic and a replay`);
}

/** Copies can be moved one partition at a time: the one with the fewest is what a topic survives with. */
function replicationDifferences(found: Found, wanted: readonly Wanted[], replicationFactor: number): readonly string[] {
  return wanted.flatMap(({ name }) => {
    const is = Math.min(...found.get(name)!.map(({ replicas }) => replicas.length));
    return is === replicationFactor ? [] : [`topic ${name} has replication.factor=${is}, and the setting says ${replicationFactor}`];
  });
}

/** The settings of each topic, by name. */
async function settingsOf(admin: Admin, wanted: readonly Wanted[]): Promise<ReadonlyMap<string, ReadonlyMap<string, string>>> {
  const resources = wanted.map(({ name, config }) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: Object.keys(config) }));
  const answer = await admin.describeConfigs({ resources, includeSynonyms: false });
  return new Map(
    answer.resources.map((it) => [
      it.resourceName,
      new Map(it.configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
}

function differences(found: ReadonlyMap<string, ReadonlyMap<string, string>>, wanted: readonly Wanted[]): readonly string[] {
  return wanted.flatMap(({ name, config }) =>
    Object.entries(config).flatMap(([setting, value]) => {
      const is = found.get(name)?.get(setting);
      return is === undefined || is === value ? [] : [`topic ${name} has ${setting}=${is}, and the contract says ${value}`];
    }),
  );
}
