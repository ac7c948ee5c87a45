import { setTimeout } from 'node:timers/promises';
import type { Admin, Kafka } from 'kafkajs';
import { adminOf, type Cluster } from './kafkajs.js';
import { newClient, type Client, type KafkaAddress } from './client.js';
import type { TopicPartition } from './topic-partition.js';
import { answered, isRefusal, logUnavailable, reasonOf } from './trouble.js';

/** Where a partition begins, and the offset of its next record. */
export interface Extent {
  readonly low: number;
  readonly high: number;
}

/** The extents of the partitions of each topic, by topic as Kafka calls it and partition. */
export type Extents = ReadonlyMap<string, readonly Extent[]>;

type Question<T> = (admin: Admin, kafka: Kafka, cluster: Cluster) => Promise<T>;

interface Connected {
  readonly client: Client;
  readonly admin: Admin;
  readonly cluster: Cluster;
  /** Questions that wait for an answer. */
  open: number;
}

const defaultPatienceMs = 15_000;
/** With brokers that refuse us: another of them may not, but whoever waits shall soon be told why. */
const refusedMs = 2_000;
const defaultAnswerMs = 6_000;
const retries = 1;
const pauseMs = { first: 50, max: 1_000 };
/** How long a question for extents waits for further topics. A request for /metrics makes each group ask for its own topics within a few milliseconds. */
const gatherMs = 10;

/** A question for the extents of some topics, which is not sent yet. Its answer is undefined when the question has failed. */
interface Gathering {
  readonly topics: Set<string>;
  readonly answer: Promise<Extents | undefined>;
}

/** Asks the brokers, over one client that is replaced after each failure: what it knows of the brokers may be wrong by then. */
export class Asker {
  #connected: Promise<Connected> | undefined;
  #closed = false;
  /** Brokers that may have frozen. */
  #suspects: readonly string[] = [];
  #gathering: Gathering | undefined;

  constructor(private readonly address: KafkaAddress) {}

  /**
   * Rejects `log_unavailable` when there is no answer for that long. A question may be asked more than once.
   * @param answerMs how long to wait for one broker, before another one is asked.
   */
  async ask<T>(question: Question<T>, patienceMs = defaultPatienceMs, answerMs = defaultAnswerMs): Promise<T> {
    const beganMs = performance.now();
    for (let ms = pauseMs.first; ; ms = Math.min(2 * ms, pauseMs.max)) {
      try {
        return await this.#askOnce(question, answerMs);
      } catch (cause) {
        // Another broker may answer where one is frozen, and metadata may be stale for a moment after a leader change.
        const [lastsMs, what] = isRefusal(cause) ? [refusedMs, 'cannot be used'] : [patienceMs, 'does not answer'];
        if (this.#closed || performance.now() + ms > beganMs + lastsMs) throw logUnavailable(`Kafka ${what}: ${reasonOf(cause)}.`, cause);
        await setTimeout(ms);
      }
    }
  }

  /**
   * Of all topics or of none: rejects as `ask` does when one of them has no leader. Calls within a few milliseconds
   * share one question, which is sent after the last of them, so that no answer is older than its call.
   * @param topics as Kafka calls them.
   */
  async extentsOf(topics: readonly string[]): Promise<Extents> {
    const endMs = performance.now() + defaultPatienceMs;
    const gathering = (this.#gathering ??= this.#gather());
    for (const topic of topics) gathering.topics.add(topic);
    // A single topic without a leader makes the shared question fail. Each caller then asks again for its own topics only.
    const all = (await gathering.answer) ?? (await this.ask((_, __, cluster) => extentsIn(cluster, topics), endMs - performance.now()));
    return new Map(topics.map((topic) => [topic, all.get(topic)!]));
  }

  /** As `extentsOf`, of one partition; undefined when there is no such partition. */
  async extentOf({ topic, partition }: TopicPartition): Promise<Extent | undefined> {
    return (await this.extentsOf([topic])).get(topic)?.[partition];
  }

  /** The offsets that a group has committed, by topic and partition; -1 where it has none. Of all its topics when these are left out. */
  async committedBy(group: string, topics?: readonly string[]): Promise<ReadonlyMap<string, readonly number[]>> {
    const found = await this.ask((admin) => admin.fetchOffsets({ groupId: group, ...(topics && { topics: [...topics] }) }));
    return new Map(found.map(({ topic, partitions }) => [topic, byPartition(partitions, ({ offset }) => Number(offset))]));
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#connected?.then(({ client }) => client.cut()).catch(() => undefined);
  }

  #gather(): Gathering {
    const topics = new Set<string>();
    const answer = setTimeout(gatherMs).then(() => {
      this.#gathering = undefined;
      return this.#askOnce((_, __, cluster) => extentsIn(cluster, [...topics]), defaultAnswerMs).catch(() => undefined);
    });
    return { topics, answer };
  }

  async #askOnce<T>(question: Question<T>, answerMs: number): Promise<T> {
    if (this.#closed) throw new Error('the log is being closed');
    const connecting = (this.#connected ??= this.#connect());
    const connected = await connecting.catch((cause: unknown) => this.#forget(connecting, cause));
    connected.open++;
    try {
      return await answered(answerMs, question(connected.admin, connected.client.kafka, connected.cluster));
    } catch (cause) {
      this.#suspects = connected.client.suspects();
      return this.#forget(connecting, cause);
    } finally {
      // Other questions may still get their answers over a connection that is not used any more.
      if (--connected.open === 0 && this.#connected !== connecting) connected.client.cut();
    }
  }

  #forget(connecting: Promise<Connected>, cause: unknown): never {
    if (this.#connected === connecting) this.#connected = undefined;
    throw cause;
  }

  async #connect(): Promise<Connected> {
    const client = newClient(this.address, retries, { last: this.#suspects });
    const { admin, cluster } = adminOf(client.kafka);
    try {
      await answered(defaultAnswerMs, admin.connect());
      return { client, admin, cluster, open: 0 };
    } catch (cause) {
      this.#suspects = client.suspects();
      client.cut();
      throw cause;
    }
  }
}

async function extentsIn(cluster: Cluster, topics: readonly string[]): Promise<Extents> {
  await cluster.addMultipleTargetTopics(topics);
  await cluster.refreshMetadataIfNecessary();
  const [lows, highs] = [await offsetsIn(cluster, topics, true), await offsetsIn(cluster, topics, false)];
  return new Map(topics.map((topic) => [topic, highs.get(topic)!.map((high, partition) => ({ low: lows.get(topic)![partition]!, high }))]));
}

/** The first offsets that topics have, or else the offsets of their next records, by topic and partition. */
async function offsetsIn(
  cluster: Cluster,
  topics: readonly string[],
  fromBeginning: boolean,
): Promise<ReadonlyMap<string, readonly number[]>> {
  const asked = topics.map((topic) => {
    const partitions = cluster.findTopicPartitionMetadata(topic).map(({ partitionId: partition }) => ({ partition }));
    return { topic, partitions, fromBeginning };
  });
  const found = await cluster.fetchTopicsOffset(asked);
  return new Map(found.map(({ topic, partitions }) => [topic, byPartition(partitions, ({ offset }) => Number(offset))]));
}

function byPartition<P extends { readonly partition: number }, T>(found: readonly P[], valueOf: (partition: P) => T): readonly T[] {
  const values: T[] = [];
  for (const one of found) values[one.partition] = valueOf(one);
  return values;
}
