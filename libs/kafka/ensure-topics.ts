import { setTimeout } from 'node:timers/promises';
import type { Admin, PartitionMetadata } from 'kafkajs';
import { letterTopicOf, type AnyTopic } from '#log';
import { OperatorError } from '#model';
import type { Asker } from './asker.js';
import { pinnedSettings, setSettings, settingsOf, type Pinned } from './topic-settings.js';

export interface TopicSettings {
  readonly replicationFactor: number;
  readonly minInsyncReplicas: number;
  /** How long points and events are kept; left to the operator when left out. */
  readonly keepMs?: number;
  /** Sets what differs, where Kafka allows that, instead of naming it. */
  readonly correctTopics?: boolean;
}

/** A topic as it shall be. */
interface Wanted {
  /** As Kafka calls it. */
  readonly name: string;
  readonly partitions: number;
  readonly pinned: (copies: number) => readonly Pinned[];
}

/** A setting of a topic that breaks a promise. */
interface Difference extends Pinned {
  readonly topic: string;
  readonly is: string;
}

/** How often, and after which pause, a broker that has just made a topic is asked for it. */
const [tries, againMs] = [60, 50];

/**
 * Makes the topics that are missing, with one for dead letters beside each; none is ever deleted, and what is there is changed only if the
 * settings say so. Resolves with a sentence for each thing that differs, or was set.
 * Rejects OperatorError when a number of partitions differs or a setting would lose records, `log_unavailable` when Kafka cannot be reached.
 */
export async function ensureTopics(
  asker: Asker,
  prefix: string,
  topics: readonly AnyTopic[],
  settings: TopicSettings,
): Promise<readonly string[]> {
  const wanted = topics.flatMap((topic) => [asWanted(prefix, topic, settings), asWanted(prefix, letterTopicOf(topic), settings)]);
  const there = new Set(await asker.ask((admin) => admin.listTopics()));
  const missing = wanted.filter(({ name }) => !there.has(name));
  if (missing.length > 0) {
    await asker.ask((admin) => create(admin, missing, settings.replicationFactor));
    await untilLed(asker, missing);
  }
  const found = await asker.ask((admin) => partitionsOf(admin, wanted));
  comparePartitions(found, wanted);
  const differing = await asker.ask((admin) => differences(admin, found, wanted));
  const sentences = settings.correctTopics ? await asker.ask((admin) => correct(admin, differing)) : named(differing);
  return [...replicationDifferences(found, wanted, settings.replicationFactor), ...sentences];
}

function asWanted(prefix: string, topic: AnyTopic, { minInsyncReplicas, keepMs }: TopicSettings): Wanted {
  return {
    name: prefix + topic.name,
    partitions: topic.partitions,
    pinned: (copies) => pinnedSettings(topic, minInsyncReplicas, copies, keepMs),
  };
}

/** Makes topics, which another process may make at the same time. */
async function create(admin: Admin, missing: readonly Wanted[], replicationFactor: number): Promise<void> {
  await admin.createTopics({
    topics: missing.map(({ name, partitions, pinned }) => ({
      topic: name,
      numPartitions: partitions,
      replicationFactor,
      configEntries: pinned(replicationFactor).map((setting) => ({ name: setting.name, value: setting.value })),
    })),
    waitForLeaders: false,
  });
}

/**
 * Brokers tell who leads a partition before that one answers for it. Whoever joins a group meanwhile would be refused, and kafkajs joins again
 * without a pause, dozens of times a second.
 */
async function untilLed(asker: Asker, made: readonly Wanted[]): Promise<void> {
  // One after the other: of those that were made at once, none answers before the first does.
  for (const { name } of made) await asker.ask((admin) => offsetsSoon(admin, name));
}

/** Asks again a few times: a new connection for each question, as after other failures, would help nobody here. */
async function offsetsSoon(admin: Admin, name: string): Promise<void> {
  for (let left = tries; ; left--) {
    try {
      return void (await admin.fetchTopicOffsets(name));
    } catch (cause) {
      if (left === 0) throw cause;
      await setTimeout(againMs);
    }
  }
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
  throw new OperatorError(`${sentences.join('; ')}: another number puts keys elsewhere, so it takes a new topic and a replay`);
}

/** The copies of the partition that has the fewest: they are set for each partition by itself. */
const copiesOf = (found: Found, name: string): number => Math.min(...found.get(name)!.map(({ replicas }) => replicas.length));

function replicationDifferences(found: Found, wanted: readonly Wanted[], replicationFactor: number): readonly string[] {
  return wanted.flatMap(({ name }) => {
    const is = copiesOf(found, name);
    return is === replicationFactor ? [] : [`topic ${name} has replication.factor=${is}, and the setting says ${replicationFactor}`];
  });
}

async function differences(admin: Admin, found: Found, wanted: readonly Wanted[]): Promise<readonly Difference[]> {
  const settings = await settingsOf(
    admin,
    wanted.map(({ name }) => name),
  );
  return wanted.flatMap(({ name: topic, pinned }) =>
    pinned(copiesOf(found, topic)).flatMap((setting) => {
      const is = settings.get(topic)?.all.get(setting.name);
      return is === undefined || !setting.fits || setting.fits(is) ? [] : [{ ...setting, topic, is }];
    }),
  );
}

const mend = '`headwater init --data-plane` sets it';

/** @throws OperatorError when one of them would lose records. */
function named(differing: readonly Difference[]): readonly string[] {
  const sentence = ({ topic, name, is, value, price }: Difference): string => `topic ${topic} has ${name}=${is}, not ${value}: ${price}`;
  const losing = differing.filter(({ losesRecords }) => losesRecords);
  if (losing.length > 0) throw new OperatorError(`${losing.map(sentence).join('; ')}; ${mend}`);
  return differing.map((difference) => `${sentence(difference)}; ${mend}`);
}

async function correct(admin: Admin, differing: readonly Difference[]): Promise<readonly string[]> {
  if (differing.length === 0) return [];
  const byTopic = Map.groupBy(differing, ({ topic }) => topic);
  const settings = await settingsOf(admin, [...byTopic.keys()]);
  for (const [topic, of] of byTopic) {
    await setSettings(admin, topic, new Map([...settings.get(topic)!.own, ...of.map(({ name, value }) => [name, value] as const)]));
  }
  return differing.map(({ topic, name, is, value }) => `topic ${topic} had ${name}=${is}, and has ${value} now`);
}
