import type { Admin, ConsumerGroupJoinEvent } from 'kafkajs';
import {
  letterTopicOf,
  withoutEmptyLetters,
  type AnyTopic,
  type Groups,
  type GroupsReport,
  type Moved,
  type Progress,
  type Start,
} from '#log';
import { OperatorError } from '#model';
import type { Asker, Extents } from './asker.js';
import { newClient, type KafkaAddress } from './client.js';
import { assigner } from './assigner.js';
import type { TopicPartition } from './topic-partition.js';
import { logUnavailable, within } from './trouble.js';

/** Kafka's codes for a group that has members, and for one that is not there. */
const left: readonly number[] = [68, 69];
const joinMs = 30_000;

/** The consumer groups of a Kafka, seen from outside. All of it rejects `log_unavailable`. */
export class KafkaGroups implements Groups {
  private readonly prefix: string;

  constructor(
    private readonly address: KafkaAddress,
    private readonly asker: Asker,
    private readonly topics: readonly AnyTopic[],
  ) {
    this.prefix = address.prefix ?? '';
  }

  /** Where topics end now. */
  ends(topics: readonly string[]): Promise<Extents> {
    return this.asker.extentsOf(topics.map((topic) => this.prefix + topic));
  }

  /**
   * A time before which all records were appended that stood before these offsets, one for each partition; Unix milliseconds, to the second.
   * An offset of 0 has none before it.
   */
  async appendedBefore(topic: string, offsets: readonly number[]): Promise<number> {
    let [fromMs, toMs] = [0, Date.now()];
    while (toMs - fromMs > 1000) {
      const middleMs = Math.floor((fromMs + toMs) / 2);
      const first = await this.asker.ask((admin) => admin.fetchTopicOffsetsByTimestamp(this.prefix + topic, middleMs));
      const isLater = first.every(({ partition, offset }) => offsets[partition] === 0 || Number(offset) > offsets[partition]!);
      if (isLater) toMs = middleMs;
      else fromMs = middleMs;
    }
    return toMs;
  }

  /** Every partition up to these ends, whether or not the group has read of it. */
  async progress(group: string, ends: Extents): Promise<readonly Progress[]> {
    const committed = await this.asker.committedBy(this.prefix + group, [...ends.keys()]);
    return Array.from(ends, ([topic, extents]) =>
      extents.map(({ low, high }, partition) => {
        const offset = Math.max(low, committed.get(topic)?.[partition] ?? 0);
        return { group, topic: topic.slice(this.prefix.length), partition, offset, lag: Math.max(0, high - offset) };
      }),
    ).flat();
  }

  /** The names of all groups that keep offsets. */
  async names(): Promise<readonly string[]> {
    const { groups } = await this.asker.ask((admin) => admin.listGroups());
    const own = groups.map(({ groupId }) => groupId).filter((name) => name.startsWith(this.prefix));
    return own.map((name) => name.slice(this.prefix.length)).toSorted();
  }

  async report(): Promise<GroupsReport> {
    const all = this.#all;
    const ends = await this.ends(all.map(({ name }) => name));
    const progress = (await this.names()).map(async (group) => {
      const read = new Set(await this.#topicsOf(group));
      return this.progress(group, new Map([...ends].filter(([topic]) => read.has(topic))));
    });
    const sizes = all.map(({ name: topic, partitions, cleanup }) => {
      const extents = ends.get(this.prefix + topic)!;
      return { topic, partitions, cleanup, records: extents.reduce((sum, { low, high }) => sum + high - low, 0) };
    });
    const groups = (await Promise.all(progress)).flat();
    return { topics: withoutEmptyLetters(sizes), groups: groups.filter(({ offset, lag }) => offset + lag > 0) };
  }

  /** How many members a group has. */
  async members(group: string): Promise<number> {
    const { groups } = await this.asker.ask((admin) => admin.describeGroups([this.prefix + group]));
    return groups[0]?.members.length ?? 0;
  }

  /** Deletes a group and its offsets. One that has members stays, and one that is gone is no mistake. */
  async delete(group: string): Promise<void> {
    await this.asker.ask((admin) =>
      admin.deleteGroups([this.prefix + group]).catch((error: { readonly groups?: readonly { readonly errorCode: number }[] }) => {
        if (!error.groups?.every(({ errorCode }) => left.includes(errorCode))) throw error;
      }),
    );
  }

  async move(group: string, to: Start): Promise<Moved> {
    const id = this.prefix + group;
    if ((await this.members(group)) > 0)
      throw new OperatorError(`The group ${group} has members: stop all processors first, and start them afterwards.`);
    const topics = await this.#topicsOf(group);
    if (topics.length === 0) throw new OperatorError(`The group ${group} reads none of the topics of this service.`);
    const [extents, committed] = await Promise.all([this.asker.extentsOf(topics), this.asker.committedBy(id, topics)]);
    const moved = topics.map(async (topic) => {
      const starts = await this.asker.ask((admin) => startsIn(admin, topic, to));
      return extents.get(topic)!.map(({ low }, partition) => {
        const offset = Math.max(low, Math.min(starts(partition), committed.get(topic)?.[partition] ?? low));
        return { topic, partition, offset };
      });
    });
    await setOffsets(this.address, id, (await Promise.all(moved)).flat());
    const cut = topics.filter((topic) => extents.get(topic)!.some(({ low }) => low > 0));
    const plain = (names: readonly string[]): string[] => names.map((name) => name.slice(this.prefix.length));
    return { topics: plain(topics), cut: plain(cut) };
  }

  get #all(): readonly AnyTopic[] {
    return this.topics.flatMap((topic) => [topic, letterTopicOf(topic)]);
  }

  /** Those of our topics that a group has committed offsets of, as Kafka calls them: others may keep offsets in the same Kafka. */
  async #topicsOf(group: string): Promise<readonly string[]> {
    const ours = new Set(this.#all.map(({ name }) => this.prefix + name));
    const committed = await this.asker.committedBy(this.prefix + group);
    return [...committed.keys()].filter((topic) => ours.has(topic)).toSorted();
  }
}

/** The offset that is asked for, by partition, whether or not there is a record. */
async function startsIn(admin: Admin, topic: string, to: Start): Promise<(partition: number) => number> {
  if (to === 'beginning') return () => 0;
  if ('offset' in to) return () => to.offset;
  const found = await admin.fetchTopicOffsetsByTimestamp(topic, to.timestampMs);
  const offsets = new Map(found.map(({ partition, offset }) => [partition, Number(offset)]));
  return (partition) => offsets.get(partition) ?? 0;
}

/** Commits offsets, earlier or later ones, as the only member of a group for a moment. Rejects OperatorError when the group has other members. */
export async function setOffsets(
  address: KafkaAddress,
  group: string,
  offsets: readonly (TopicPartition & { readonly offset: number; readonly metadata?: string })[],
): Promise<void> {
  const topics = [...new Set(offsets.map(({ topic }) => topic))];
  const client = newClient(address);
  const consumer = client.kafka.consumer({
    groupId: group,
    maxWaitTimeInMs: 100,
    partitionAssigners: [assigner(() => true)],
    allowAutoTopicCreation: false,
  });
  try {
    const joined = new Promise<ConsumerGroupJoinEvent>((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
    await consumer.connect();
    await consumer.subscribe({ topics, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async (payload) => void payload.pause() });
    const event = await within(joinMs, joined);
    if (!event) throw logUnavailable('The group cannot be joined now.');
    const given = event.payload.memberAssignment;
    if (!offsets.every(({ topic, partition }) => given[topic]?.includes(partition)))
      throw new OperatorError(`The group ${group} has members: stop all processors first, and start them afterwards.`);
    await consumer.commitOffsets(offsets.map((it) => ({ ...it, offset: String(it.offset) })));
  } finally {
    await within(joinMs, consumer.disconnect());
    client.cut();
  }
}
