import { setTimeout } from 'node:timers/promises';
import type { Consumer, EachBatchPayload } from 'kafkajs';
import type { Position } from '#log';
import { assigner } from '../assigner.js';
import { newClient, type Client, type KafkaAddress } from '../client.js';
import { fetching } from '../fetch/fetch-loop.js';
import type { Fetched } from '../fetch/lane.js';
import type { TopicPartition } from '../topic-partition.js';
import { within } from '../trouble.js';

export interface SessionOptions {
  readonly address: KafkaAddress;
  readonly group: string;
  /** As Kafka calls them. */
  readonly topics: readonly string[];
  /** How long the group waits for a member that it does not hear. */
  readonly sessionMs: number;
  /** How long a broker holds a fetch that finds nothing: joining and leaving the group take up to that long. `fetchMsOf` where it is left out. */
  readonly fetchMs?: number | undefined;
}

/** What a session tells its member. */
export interface SessionEvents {
  given(partitions: Readonly<Record<string, readonly number[]>>): void;
  /** The partitions may be given to others from now on. */
  losing(): void;
  /** The session is about to ask for partitions anew. False when it is too soon: it asks again a moment later. */
  joining(): boolean;
  /** The group has answered a heartbeat. */
  heard(): void;
  fetched(batch: EachBatchPayload): void;
  /** Nothing but marks of transactions, which nobody is given, stood in what was fetched, up to that offset. */
  skipped(partition: TopicPartition, fetched: Fetched, next: number): void;
  /** Nothing comes any more. */
  crashed(error: Error): void;
}

const leaveMs = 5_000;

/** How long a group goes without a heartbeat at most. */
const heartbeatMsOf = (sessionMs: number): number => sessionMs / 10;

/** How long a broker may hold a fetch of a group: kafkajs sends heartbeats only between fetches. */
export const fetchMsOf = (sessionMs: number): number => Math.min(fetching.groupWaitMs, heartbeatMsOf(sessionMs));

/** How long members have to join again: as long as a session, and at least as long as a busy machine needs. */
export const rebalanceMsOf = (sessionMs: number): number => Math.max(sessionMs, 5_000);

/** One consumer of kafkajs in its group, from its joining until it crashes or leaves. It is not started again. */
export class Session {
  readonly #consumer: Consumer;
  readonly #client: Client;
  #sentMs = performance.now();
  #crash: Error | undefined;
  #restUntilMs = 0;

  constructor(
    private readonly options: SessionOptions,
    private readonly events: SessionEvents,
  ) {
    const { address, group, sessionMs, fetchMs = fetchMsOf(sessionMs) } = options;
    this.#client = newClient(address);
    this.#consumer = this.#client.kafka.consumer({
      groupId: group,
      sessionTimeout: sessionMs,
      rebalanceTimeout: rebalanceMsOf(sessionMs),
      heartbeatInterval: heartbeatMsOf(sessionMs),
      partitionAssigners: [assigner(() => events.joining())],
      maxWaitTimeInMs: fetchMs,
      maxBytesPerPartition: fetching.partitionBytes,
      maxBytes: fetching.bytes,
      allowAutoTopicCreation: false,
      // The member starts a new session itself: one that kafkajs restarts cannot be stopped.
      retry: { restartOnFailure: async () => false },
    });
    this.#hear();
  }

  /** When the last message was sent that keeps a member in its group, by the monotonic clock. */
  get sentMs(): number {
    return this.#sentMs;
  }

  async connect(): Promise<void> {
    await this.#consumer.connect();
    await this.#consumer.subscribe({ topics: [...this.options.topics], fromBeginning: true });
  }

  /** Resolves when it has joined. */
  async run(): Promise<void> {
    await this.#consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: (batch) => this.#take(batch) });
    if (this.#crash) throw this.#crash;
  }

  /** Commits offsets of partitions that the group has given. Resolves without having done so when the consumer does not run. */
  async commit(positions: readonly Position[]): Promise<void> {
    await this.#consumer.commitOffsets(positions.map((position) => ({ ...position, offset: String(position.offset) })));
  }

  /** Fetches nothing of its topics for now. */
  pause(): void {
    this.#consumer.pause(this.options.topics.map((topic) => ({ topic })));
  }

  /** Fetches one partition again, or all of its topics. */
  resume(one?: TopicPartition): void {
    this.#consumer.resume(one ? [{ topic: one.topic, partitions: [one.partition] }] : this.options.topics.map((topic) => ({ topic })));
  }

  /** Fetches a partition from an offset on. */
  seek(partition: TopicPartition, offset: number): void {
    this.#consumer.seek({ ...partition, offset: String(offset) });
  }

  /** Resolves when the group knows, or cannot be told. */
  async leave(): Promise<void> {
    await within(
      leaveMs,
      this.#consumer.disconnect().catch(() => undefined),
    );
    this.#client.cut();
  }

  /** Once for each fetch that has brought something, the next one waits a little. */
  async #take(batch: EachBatchPayload): Promise<void> {
    this.events.fetched(batch);
    const leftMs = this.#restUntilMs - performance.now();
    if (leftMs > 0) await setTimeout(leftMs);
  }

  #hear(): void {
    const { events } = this;
    const consumer = this.#consumer;
    const { REQUEST, FETCH, HEARTBEAT, GROUP_JOIN, REBALANCING, STOP, DISCONNECT, CRASH, START_BATCH_PROCESS } = consumer.events;
    consumer.on(REQUEST, ({ payload: { apiName, duration } }) => {
      if (apiName === 'Heartbeat' || apiName === 'SyncGroup') this.#sentMs = performance.now() - Math.max(0, duration);
    });
    consumer.on(FETCH, () => (this.#restUntilMs = performance.now() + fetching.restMs));
    consumer.on(HEARTBEAT, () => events.heard());
    consumer.on(GROUP_JOIN, ({ payload }) => events.given(payload.memberAssignment));
    for (const event of [REBALANCING, STOP, DISCONNECT]) consumer.on(event, () => events.losing());
    consumer.on(CRASH, ({ payload: { error } }) => {
      this.#crash = error;
      events.crashed(error);
    });
    consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      if (payload.batchSize > 0) return;
      const { topic, partition, lastOffset, highWatermark } = payload;
      // kafkajs does not tell where the fetch began. The first batch stands there, or behind a gap; without a batch it is the last offset.
      const firstOffset: string | null = payload.firstOffset;
      const fetched = { from: Number(firstOffset ?? lastOffset), high: Number(highWatermark) };
      events.skipped({ topic, partition }, fetched, Number(lastOffset) + 1);
    });
  }
}
