import type { Consumer } from 'kafkajs';
import type { Position } from '#log';
import { assigner } from '../assigner.js';
import { newClient, type Client, type KafkaAddress } from '../client.js';
import { within } from '../trouble.js';

export interface SessionOptions {
  readonly address: KafkaAddress;
  readonly group: string;
  /** As Kafka calls them. */
  readonly topics: readonly string[];
  /** How long the group waits for a member that it does not hear. */
  readonly sessionMs: number;
  /** How often kafkajs looks whether a heartbeat is due: leaving the group takes up to that long. `lookMsOf(sessionMs)` when left out. */
  readonly lookMs?: number | undefined;
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
  /** It is not a member any more. */
  crashed(error: Error): void;
}

const leaveMs = 5_000;

/** How long a group goes without a heartbeat at most. */
const heartbeatMsOf = (sessionMs: number): number => sessionMs / 10;

const maxLookMs = 1_000;
export const lookMsOf = (sessionMs: number): number => Math.min(maxLookMs, heartbeatMsOf(sessionMs));

/** How long members have to join again: as long as a session, and at least as long as a busy machine needs. */
export const rebalanceMsOf = (sessionMs: number): number => Math.max(sessionMs, 5_000);

/** One consumer of kafkajs in its group, from its joining until it crashes or leaves. It is not started again, and fetches nothing. */
export class Session {
  readonly #consumer: Consumer;
  readonly #client: Client;
  #sentMs = performance.now();
  #crash: Error | undefined;

  constructor(
    private readonly options: SessionOptions,
    private readonly events: SessionEvents,
  ) {
    const { address, group, sessionMs, lookMs = lookMsOf(sessionMs) } = options;
    this.#client = newClient(address);
    this.#consumer = this.#client.kafka.consumer({
      groupId: group,
      sessionTimeout: sessionMs,
      rebalanceTimeout: rebalanceMsOf(sessionMs),
      heartbeatInterval: heartbeatMsOf(sessionMs),
      partitionAssigners: [assigner(() => events.joining())],
      // kafkajs pauses for that long when all partitions are paused, and sends heartbeats in between.
      maxWaitTimeInMs: lookMs,
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
    await this.#consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: () => Promise.resolve() });
    if (this.#crash) throw this.#crash;
  }

  /**
   * Commits offsets of partitions that the group has given, as the generation of the group that holds at the call. Rejects when the group has moved on to
   * another generation.
   */
  async commit(positions: readonly Position[]): Promise<void> {
    await this.#consumer.commitOffsets(positions.map((position) => ({ ...position, offset: String(position.offset) })));
  }

  /** Resolves when the group knows, or cannot be told. */
  async leave(): Promise<void> {
    await within(
      leaveMs,
      this.#consumer.disconnect().catch(() => undefined),
    );
    this.#client.cut();
  }

  #hear(): void {
    const { events } = this;
    const consumer = this.#consumer;
    const { REQUEST, HEARTBEAT, GROUP_JOIN, REBALANCING, STOP, DISCONNECT, CRASH } = consumer.events;
    consumer.on(REQUEST, ({ payload: { apiName, duration } }) => {
      if (apiName === 'Heartbeat' || apiName === 'SyncGroup') this.#sentMs = performance.now() - Math.max(0, duration);
    });
    consumer.on(HEARTBEAT, () => events.heard());
    consumer.on(GROUP_JOIN, ({ payload }) => {
      consumer.pause(this.options.topics.map((topic) => ({ topic })));
      events.given(payload.memberAssignment);
    });
    for (const event of [REBALANCING, STOP, DISCONNECT]) consumer.on(event, () => events.losing());
    consumer.on(CRASH, ({ payload: { error } }) => {
      this.#crash = error;
      events.crashed(error);
    });
  }
}
