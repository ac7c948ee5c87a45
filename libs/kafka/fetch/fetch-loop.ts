import type { KafkaMessage } from 'kafkajs';
import type { TokenBucket } from '#model';
import { Bell } from '../bell.js';
import { newClient, type Client, type KafkaAddress } from '../client.js';
import { clusterOf, messagesOf, readCommitted, type Broker, type Cluster, type FetchedPartition } from '../kafkajs.js';
import { Moment } from '../moment.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { answered, kafkaErrorOf, mayHelpAgain, pause, within } from '../trouble.js';

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
  /** What `partitionName` gives for the partition, made once. */
  readonly name: string;
  /** Offset of the next record to fetch. */
  readonly next: number;
  /** What was fetched and not yet taken. */
  readonly waitingBytes: number;
  /** Partitions with the same reader share one bound for the bytes that wait. */
  readonly reader?: object;
  fetched(fetched: Fetched): Promise<void> | void;
  /** The partition has no such offset. It is fetched again unless it was removed. */
  outOfRange(): Promise<void>;
  /** A fetch of the partition has failed. The partition is fetched again until it is removed. */
  failed?(error: unknown): void;
}

/** How everybody fetches. */
const fetching = {
  /** How long a broker holds a fetch that finds nothing. Shorter costs CPU on both sides; longer delays the first fetch of a partition that is added. */
  waitMs: 500,
  partitionBytes: 256 << 10,
  bytes: 4 << 20,
};
/** CPU of a fetch, about, in milliseconds: of the call itself, and of each partition that it names. */
const costMs = { fetch: 0.25, partition: 0.02 };
const connectMs = 10_000;
const answerMs = 10_000;
const stopMs = 1_000;
const retries = 1;
const pauseMs = { first: 100, max: 2_000 };
/** After this a topic that was not found is looked for again, and a partition that cannot be read is asked for again. */
const lookMs = 1_000;
const missing: readonly (string | undefined)[] = ['UNKNOWN_TOPIC_OR_PARTITION', 'TOPIC_AUTHORIZATION_FAILED', 'INVALID_TOPIC_EXCEPTION'];

export interface FetchLoopParts {
  readonly address: KafkaAddress;
  /** What fetches may cost, in milliseconds of CPU; the loops of one reader share it. */
  readonly budget: TokenBucket;
  /** The pause after a fetch that has brought something: the next one brings more. */
  readonly restMs: number;
  /** Every partition that is read, by this loop or another one. */
  wanted(): Iterable<Wanted>;
  /** The partitions that this loop is to fetch now from one broker. @param isLed whether that broker leads a partition. */
  due(loop: FetchLoop, isLed: (one: Wanted) => boolean): readonly Wanted[];
  /** @param from what the broker was asked for. */
  take(one: Wanted, from: number, fetched: Fetched): Promise<void>;
}

/**
 * Fetches what is due, again and again, over one connection to each broker. After a failure it takes a new client: what the old one knows of the
 * brokers may be wrong by then.
 */
export class FetchLoop {
  readonly #stopping = new AbortController();
  /** Readers who got nothing although there is something: a batch without records, or a batch that was too large for the answer. */
  readonly #empty = new WeakSet<Wanted>();
  /** Readers whose last fetch has failed. Each is asked for alone: only then is it clear whose records cannot be read. */
  readonly #doubtful = new WeakSet<Wanted>();
  /** Readers that are left out for a second, after a failure or an offset that the broker does not have. */
  readonly #resting = new WeakSet<Wanted>();
  readonly #changed = new Bell();
  readonly #news = new Bell();
  /** The broker of each partition, as of the last look at the topics; undefined where none leads. */
  #leaders: ReadonlyMap<Wanted, string | undefined> = new Map();
  #fetches = 0;
  #client: Client | undefined;
  #running: Promise<void> | undefined;

  constructor(private readonly parts: FetchLoopParts) {}

  /** There is more to read than before. */
  learn(): void {
    this.#running ??= this.#run();
    this.#changed.ring();
    this.look();
  }

  /** Something may be due that was not. */
  look(): void {
    this.#news.ring();
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
      await this.#session().catch((error: unknown) => {
        for (const one of this.parts.wanted()) one.failed?.(error);
      });
      if (began.agoMs() > 2 * answerMs) ms = pauseMs.first;
      await pause(ms, signal);
    }
  }

  /** Fetches until something fails. */
  async #session(): Promise<void> {
    const client = (this.#client = newClient(this.parts.address, retries));
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
        this.#leaders = new Map(Array.from(this.parts.wanted(), (one) => [one, leaderOf(cluster, one)]));
        this.look();
        for (const id of new Set(this.#leaders.values())) {
          if (id === undefined || brokers.has(id)) continue;
          brokers.add(id);
          this.#fetchFrom(cluster, id, ended.signal).catch(failed.reject);
        }
        await Promise.race([failed.promise, changed, ...(isAll ? [] : [pause(lookMs, this.#stopping.signal)])]);
      }
    } finally {
      ended.abort();
      this.look();
      client.cut();
    }
  }

  /** Asks where the topics are, each by itself: one that is gone does not keep the others from being read. False when one was not found. */
  async #learn(cluster: Cluster): Promise<boolean> {
    let isAll = true;
    for (const topic of new Set(Array.from(this.parts.wanted(), (one) => one.topic))) {
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
    return [...this.parts.wanted()].every((one) => leaderOf(cluster, one) !== undefined);
  }

  async #fetchFrom(cluster: Cluster, nodeId: string, ended: AbortSignal): Promise<void> {
    const broker = await answered(connectMs, cluster.findBroker({ nodeId }));
    const isLed = (one: Wanted): boolean => this.#leaders.get(one) === nodeId;
    while (!ended.aborted) {
      const news = this.#news.next();
      const due = this.parts.due(this, isLed).filter((one) => !this.#resting.has(one));
      const alone = due.find((one) => this.#empty.has(one) || this.#doubtful.has(one));
      if (due.length === 0) await news;
      else {
        const hasBrought = await this.#fetch(broker, alone ? [alone] : due);
        const ms = Math.max(this.parts.budget.waitMs(performance.now()), hasBrought ? this.parts.restMs : 0);
        if (ms > 0) await pause(ms, ended);
      }
    }
  }

  /** Readers of one partition at different offsets take turns; readers at the same offset share an answer. Resolves to whether it has brought records. */
  async #fetch(broker: Broker, due: readonly Wanted[]): Promise<boolean> {
    const asked = new Moment();
    const readers = Map.groupBy(due, ({ name }) => name);
    const from = new Map(due.map((one) => [one, one.next]));
    const isShared = due.some((one) => one.next !== from.get(readers.get(one.name)![0]!));
    const turns = Array.from(readers.values(), (of) => of[this.#fetches % of.length]!);
    const isUrgent = isShared || this.#doubtful.has(turns[0]!);
    this.#fetches++;
    this.parts.budget.take(costMs.fetch + turns.length * costMs.partition);
    const responses = await this.#ask(broker, turns, isUrgent ? 0 : fetching.waitMs);
    const asking = new Map(turns.map((one) => [one.name, one]));
    let hasBrought = false;
    for (const { topicName: topic, partitions } of responses) {
      for (const answer of partitions) {
        const name = partitionName({ topic, partition: answer.partition });
        const [one, offset] = [asking.get(name)!, from.get(asking.get(name)!)!];
        const fetched = this.#read(one, offset, answer, asked, turns.length === 1);
        hasBrought ||= fetched.messages.length > 0;
        for (const reader of readers.get(name)!) if (from.get(reader) === offset) await this.parts.take(reader, offset, fetched);
      }
    }
    return hasBrought;
  }

  /** What the broker answers; nothing when it was asked for one partition alone and that one cannot be read. Rejects when a new client may help, or when one of several partitions failed. */
  async #ask(broker: Broker, wanted: readonly Wanted[], maxWaitTime: number): Promise<Awaited<ReturnType<Broker['fetch']>>['responses']> {
    const byTopic = Map.groupBy(wanted, ({ topic }) => topic);
    const maxBytes = wanted.length === 1 ? fetching.bytes : fetching.partitionBytes;
    const topics = Array.from(byTopic, ([topic, of]) => ({
      topic,
      partitions: of.map(({ partition, next }) => ({ partition, fetchOffset: String(next), maxBytes })),
    }));
    try {
      const request = { maxWaitTime, minBytes: 1, maxBytes: fetching.bytes, isolationLevel: readCommitted, topics };
      const { responses } = await answered(answerMs, broker.fetch(request));
      for (const one of wanted) this.#doubtful.delete(one);
      return responses;
    } catch (error) {
      const { name, topic, partition } = error as Error & Partial<TopicPartition>;
      const one = name === 'KafkaJSOffsetOutOfRange' && wanted.find((it) => it.topic === topic && it.partition === partition);
      if (one) {
        if ([...this.parts.wanted()].includes(one)) await one.outOfRange();
        this.#rest(one);
        return [];
      }
      for (const it of wanted) this.#doubtful.add(it);
      if (wanted.length > 1 || mayHelpAgain(error)) throw error;
      wanted[0]!.failed?.(error);
      this.#rest(wanted[0]!);
      return [];
    }
  }

  /** Lets the others be read before it is asked for again. */
  #rest(one: Wanted): void {
    this.#resting.add(one);
    setTimeout(() => {
      this.#resting.delete(one);
      this.look();
    }, lookMs).unref();
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
