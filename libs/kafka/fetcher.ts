import type { KafkaMessage } from 'kafkajs';
import { Bell } from './bell.js';
import { newClient, type Client, type KafkaAddress } from './client.js';
import { clusterOf, messagesOf, readCommitted, type Broker, type Cluster, type FetchedPartition } from './kafkajs.js';
import { laneRoom } from './lane.js';
import { Moment } from './moment.js';
import { partitionName, type TopicPartition } from './topic-partition.js';
import { answered, kafkaErrorOf, pause, within } from './trouble.js';

/** What a fetch has brought of one partition. */
export interface Fetched {
  readonly messages: readonly KafkaMessage[];
  /** Offset to go on with. */
  readonly next: number;
  /** The first offset that the partition still has, and the one after the last that may be read. */
  readonly low: number;
  readonly high: number;
  /** When the broker was asked. */
  readonly asked: Moment;
}

/** A partition that somebody reads. */
export interface Wanted extends TopicPartition {
  /** Offset of the next record to fetch. */
  readonly next: number;
  /** What was fetched and not yet taken. */
  readonly waitingBytes: number;
  fetched(fetched: Fetched): Promise<void> | void;
  /** The partition has no such offset. It is fetched again unless it was removed. */
  outOfRange(): Promise<void>;
}

/** How everybody fetches, in a group or without one. */
export const fetching = {
  /** How long a broker holds a fetch that finds nothing. Shorter costs CPU on both sides; longer delays a stop, or a partition that is added. */
  waitMs: 500,
  /** The longest pause after a fetch that brought something: more records for one fetch, since asking for all partitions is what costs. */
  restMs: 50,
  /** The pause without a group, for each record that came: while few come, each is fetched as soon as it is there. */
  restForRecordMs: 1,
  partitionBytes: 256 << 10,
  bytes: 4 << 20,
};
const connectMs = 10_000;
const answerMs = 10_000;
const stopMs = 1_000;
const retries = 1;
const pauseMs = { first: 100, max: 2_000 };
/** After this a topic that was not found is looked for again. */
const lookMs = 1_000;
const missing: readonly (string | undefined)[] = ['UNKNOWN_TOPIC_OR_PARTITION', 'TOPIC_AUTHORIZATION_FAILED', 'INVALID_TOPIC_EXCEPTION'];

/**
 * Fetches partitions without a group, over one connection to each broker that leads some of them. After a failure it takes a new client: what
 * the old one knows of the brokers may be wrong by then.
 */
export class Fetcher {
  readonly #wanted = new Set<Wanted>();
  readonly #stopping = new AbortController();
  /** Readers who got nothing although there is something: a batch without records, or a batch that was too large for the answer. */
  readonly #empty = new WeakSet<Wanted>();
  readonly #changed = new Bell();
  readonly #room = new Bell();
  #client: Client | undefined;
  #running: Promise<void> | undefined;

  constructor(private readonly address: KafkaAddress) {}

  add(wanted: Iterable<Wanted>): void {
    for (const one of wanted) this.#wanted.add(one);
    this.#running ??= this.#run();
    this.#changed.ring();
    this.#room.ring();
  }

  remove(wanted: Iterable<Wanted>): void {
    for (const one of wanted) this.#wanted.delete(one);
  }

  /** A reader has taken something. */
  taken(): void {
    this.#room.ring();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#changed.ring();
    this.#client?.cut();
    await within(stopMs, this.#running ?? Promise.resolve());
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    for (let ms = pauseMs.first; !signal.aborted; ms = Math.min(2 * ms, pauseMs.max)) {
      const began = new Moment();
      await this.#session().catch(() => undefined);
      if (began.agoMs() > 2 * answerMs) ms = pauseMs.first;
      await pause(ms, signal);
    }
  }

  /** Fetches until something fails. */
  async #session(): Promise<void> {
    const client = (this.#client = newClient(this.address, retries));
    const cluster = clusterOf(client.kafka);
    const ended = new AbortController();
    const failed = Promise.withResolvers<never>();
    failed.promise.catch(() => undefined);
    const brokers = new Set<string>();
    try {
      await answered(connectMs, cluster.connect());
      while (!this.#stopping.signal.aborted) {
        const changed = this.#changed.next();
        const isAll = await answered(connectMs, this.#learn(cluster));
        const leaders = new Set(Array.from(this.#wanted, (one) => leaderOf(cluster, one)));
        for (const id of leaders) {
          if (id === undefined || brokers.has(id)) continue;
          brokers.add(id);
          this.#fetchFrom(cluster, id, ended.signal).catch(failed.reject);
        }
        await Promise.race([failed.promise, changed, ...(isAll ? [] : [pause(lookMs, this.#stopping.signal)])]);
      }
    } finally {
      ended.abort();
      this.#room.ring();
      client.cut();
    }
  }

  /** Asks where the topics are, each by itself: one that is gone does not keep the others from being read. False when one was not found. */
  async #learn(cluster: Cluster): Promise<boolean> {
    let isAll = true;
    for (const topic of new Set(Array.from(this.#wanted, (one) => one.topic))) {
      try {
        await cluster.addMultipleTargetTopics([topic]);
      } catch (error) {
        if (!missing.includes(kafkaErrorOf(error))) throw error;
        isAll = false;
      }
    }
    if (!isAll || this.#haveLeaders(cluster)) return isAll;
    // kafkajs asks again only for topics that are new.
    await cluster.refreshMetadata();
    return this.#haveLeaders(cluster);
  }

  #haveLeaders(cluster: Cluster): boolean {
    return [...this.#wanted].every((one) => leaderOf(cluster, one) !== undefined);
  }

  async #fetchFrom(cluster: Cluster, nodeId: string, ended: AbortSignal): Promise<void> {
    const broker = await answered(connectMs, cluster.findBroker({ nodeId }));
    while (!ended.aborted) {
      const room = this.#room.next();
      const due = this.#due(cluster, nodeId);
      const alone = due.find((one) => this.#empty.has(one));
      if (due.length === 0) await room;
      else {
        const records = await this.#fetch(broker, alone ? [alone] : due);
        if (records > 0) await pause(Math.min(fetching.restMs, records * fetching.restForRecordMs), ended);
      }
    }
  }

  #due(cluster: Cluster, nodeId: string): readonly Wanted[] {
    const room = laneRoom(this.#wanted);
    return [...this.#wanted].filter((one) => one.waitingBytes < room && leaderOf(cluster, one) === nodeId);
  }

  /**
   * Resolves to how many records came. Readers of one partition at different offsets take turns; readers at the same offset share an
   * answer.
   */
  async #fetch(broker: Broker, due: readonly Wanted[]): Promise<number> {
    const asked = new Moment();
    const readers = Map.groupBy(due, partitionName);
    const turns = Array.from(readers.values(), ([first]) => first!);
    const from = new Map(due.map((one) => [one, one.next]));
    const isShared = due.some((one) => one.next !== readers.get(partitionName(one))![0]!.next);
    const { responses } = await this.#ask(broker, turns, isShared ? 0 : fetching.waitMs);
    let records = 0;
    for (const { topicName, partitions } of responses) {
      for (const partition of partitions) {
        records += partition.messages.length;
        const [turn, ...others] = readers.get(partitionName({ topic: topicName, partition: partition.partition }))!;
        if (isShared && this.#wanted.delete(turn!)) this.#wanted.add(turn!);
        for (const one of [turn!, ...others.filter((it) => from.get(it) === from.get(turn!))])
          if (this.#wanted.has(one)) await one.fetched(this.#read(one, from.get(one)!, partition, asked, turns.length === 1));
      }
    }
    return records;
  }

  async #ask(broker: Broker, wanted: readonly Wanted[], maxWaitTime: number): ReturnType<Broker['fetch']> {
    const byTopic = Map.groupBy(wanted, ({ topic }) => topic);
    const maxBytes = wanted.length === 1 ? fetching.bytes : fetching.partitionBytes;
    const topics = Array.from(byTopic, ([topic, of]) => ({
      topic,
      partitions: of.map(({ partition, next }) => ({ partition, fetchOffset: String(next), maxBytes })),
    }));
    try {
      const request = { maxWaitTime, minBytes: 1, maxBytes: fetching.bytes, isolationLevel: readCommitted, topics };
      return await answered(answerMs, broker.fetch(request));
    } catch (error) {
      const { name, topic, partition } = error as Error & Partial<TopicPartition>;
      const one = name === 'KafkaJSOffsetOutOfRange' && wanted.find((it) => it.topic === topic && it.partition === partition);
      if (one && this.#wanted.has(one)) await one.outOfRange();
      throw error;
    }
  }

  /**
   * The log cleaner leaves batches without records, which kafkajs does not report. A broker sends a batch that is too large for the answer only
   * when one partition is asked for alone. So a partition that is asked for alone and comes back empty has no more records before its end.
   */
  #read(one: Wanted, from: number, partition: FetchedPartition, asked: Moment, isAlone: boolean): Fetched {
    const high = Number(partition.lastStableOffset);
    const isEmpty = partition.messages.length === 0 && from < high;
    const isOver = isEmpty && isAlone && this.#empty.has(one);
    if (isEmpty && !isOver) this.#empty.add(one);
    else this.#empty.delete(one);
    const behind = isOver ? high : behindAll(partition);
    const messages = messagesOf(one.topic, from, partition);
    return { messages, next: Math.max(from, behind), low: Number(partition.lastStartOffset), high, asked };
  }
}

/** The offset after the last batch, which may have ended with records that are compacted away. */
function behindAll({ messages }: FetchedPartition): number {
  const last = messages.at(-1);
  return last ? Number(last.batchContext.firstOffset) + last.batchContext.lastOffsetDelta + 1 : 0;
}

function leaderOf(cluster: Cluster, { topic, partition }: TopicPartition): string | undefined {
  const [id] = Object.keys(cluster.findLeaderForPartitions(topic, [partition]));
  return id === noLeader ? undefined : id;
}

/** What Kafka calls the leader of a partition that has none. */
const noLeader = '-1';
