import type { Consumer, EachBatchPayload, Offsets } from 'kafkajs';
import type { AnyTopic, Position } from '#log';
import type { TelemetryError } from '#model';
import type { AvroCodec } from '#topics';
import { newClient, type Client, type KafkaAddress } from '../client.js';
import type { Extents } from '../offsets.js';
import { failing, logUnavailable, reasonOf, untilDone, within, type Failure } from '../trouble.js';
import { assigner } from './assigner.js';
import { Assignment, type Place } from './assignment.js';
import { Lane, type Receiver } from './lane.js';
import { MemberLease } from './member-lease.js';

export interface MemberOptions {
  readonly address: KafkaAddress;
  /** The group to join, as Kafka calls it, each time that it joins. */
  readonly group: () => string;
  /** By the name that Kafka has for them. */
  readonly topics: ReadonlyMap<string, AnyTopic>;
  readonly codec: AvroCodec;
  /** How long the group waits for a member that it does not hear. */
  readonly sessionMs: number;
  /** Offsets to begin with. A rejection is tried again. */
  readonly startsAt: (places: readonly Place[]) => Promise<(place: Place) => number>;
  /** What to do with the records of one assignment. */
  readonly receiver: (assignment: Assignment) => Receiver;
}

type Commit = (offsets: Offsets) => Promise<void>;

interface Running {
  readonly client: Client;
  readonly consumer: Consumer;
  /** When the last message was sent that keeps a member in its group, by the monotonic clock. */
  sentMs: number;
  /** Why kafkajs has given up. */
  crash: Error | undefined;
}

const fetchMs = 100;
const partitionFetchBytes = 256 << 10;
const fetchBytes = 4 << 20;
/** What may wait for a slow receiver, over all partitions. */
const waitingBytes = 16 << 20;
const leastLaneBytes = 64 << 10;
/** A member that cannot join again within its session is none; below this a busy machine would be too slow. */
const rebalanceMsOf = (sessionMs: number): number => Math.max(sessionMs, 5_000);
const leaveMs = 5_000;

/**
 * One member of a consumer group. It fetches ahead of the receiver up to a bound and goes on telling the group that it is alive, however
 * slow the receiver is. What it holds is dropped when the group gives partitions anew or was not heard for too long; then it joins again.
 */
export class Member {
  readonly #names: readonly string[];
  #running: Running | undefined;
  #assignment: Assignment | undefined;
  /** Of the current assignment, once it has given something out. */
  #commit: Commit | undefined;
  #lostMs = 0;
  #failure: Failure | undefined;
  #joining: Promise<void> | undefined;
  #watch: NodeJS.Timeout | undefined;
  readonly #stopping = new AbortController();
  readonly #joined = Promise.withResolvers<void>();
  #waiters: (() => void)[] = [];

  constructor(private readonly options: MemberOptions) {
    this.#names = [...options.topics.keys()];
  }

  /** Resolves when the group has given it partitions to read, or none. Rejects `log_unavailable` when it is stopped before. */
  async join(): Promise<void> {
    this.#watch = setInterval(() => this.#check(), this.options.sessionMs / 10).unref();
    this.#begin();
    await this.#joined.promise;
  }

  /** Why the group cannot be joined or read; undefined when it can. */
  get failure(): Failure | undefined {
    return this.#stopping.signal.aborted ? undefined : this.#failure;
  }

  /** Resolves when everything before these ends has been taken, in the partitions that the member has then. Rejects when it is stopped. */
  async reached(ends: Extents): Promise<void> {
    while (!this.#hasReached(ends)) {
      if (this.#stopping.signal.aborted) throw notRead();
      await new Promise<void>((resolve) => this.#waiters.push(resolve));
    }
  }

  /** Commits offsets of what the current assignment has given out; none goes back. Rejects `log_unavailable` when the group refuses. */
  async commit(positions: readonly Position[]): Promise<void> {
    const lanes = positions.map((position) => [position, this.#assignment?.lane(position)] as const);
    if (!this.#assignment?.lease.held() || lanes.some(([, lane]) => !lane)) throw givenAway();
    const ahead = lanes.filter(([{ offset }, lane]) => offset > lane!.committed);
    if (ahead.length === 0) return;
    try {
      // kafkajs takes the generation of the group from here on, in this tick: a later one refuses the offsets.
      await this.#commit!(offsets(ahead.map(([position]) => position)));
    } catch (cause) {
      throw logUnavailable(`The group does not take offsets now: ${reasonOf(cause)}.`, cause);
    }
    for (const [{ offset }, lane] of ahead) lane!.committed = Math.max(lane!.committed, offset);
  }

  /** Resolves when the receiver has done; it gets nothing afterwards. Commits nothing. */
  async stop(): Promise<void> {
    this.#stop();
    if (this.#running && this.#assignment?.isOpen) this.#running.consumer.pause(this.#names.map((topic) => ({ topic })));
    await this.#assignment?.finish();
    await this.crash();
  }

  /** As `stop`, without waiting for the receiver. Resolves when the group knows, or cannot be told. */
  async crash(): Promise<void> {
    this.#stop();
    this.#assignment?.end();
    const running = this.#running;
    this.#running = undefined;
    if (running) await leave(running);
    await this.#joining;
  }

  #stop(): void {
    this.#stopping.abort();
    clearInterval(this.#watch);
    this.#joined.reject(notRead());
    // Whoever waits for it hears of it.
    this.#joined.promise.catch(() => undefined);
    this.#progress();
  }

  /** A lease that has run out, or a rebalance that does not come to its end: this member begins anew. */
  #check(): void {
    const assignment = this.#assignment;
    if (!assignment || this.#joining || assignment.lease.held()) return;
    const { sessionMs } = this.options;
    if (assignment.ended.aborted && performance.now() - this.#lostMs < rebalanceMsOf(sessionMs) + sessionMs) return;
    this.#begin();
  }

  #begin(): void {
    if (this.#joining || this.#stopping.signal.aborted) return;
    this.#end();
    const old = this.#running;
    this.#running = undefined;
    this.#joining = (old ? leave(old) : Promise.resolve())
      .then(() => untilDone(this.#stopping.signal, () => this.#run()))
      .finally(() => (this.#joining = undefined));
  }

  async #run(): Promise<void> {
    const { address, group, sessionMs } = this.options;
    const client = newClient(address);
    const consumer = client.kafka.consumer({
      groupId: group(),
      sessionTimeout: sessionMs,
      rebalanceTimeout: rebalanceMsOf(sessionMs),
      heartbeatInterval: sessionMs / 10,
      partitionAssigners: [assigner(() => this.#end(running))],
      maxWaitTimeInMs: fetchMs,
      maxBytesPerPartition: partitionFetchBytes,
      maxBytes: fetchBytes,
      allowAutoTopicCreation: false,
      // Beginning anew is ours: what kafkajs starts again by itself cannot be told to stop.
      retry: { restartOnFailure: async () => false },
    });
    const running: Running = { client, consumer, sentMs: performance.now(), crash: undefined };
    this.#hear(running);
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [...this.#names], fromBeginning: true });
      this.#stopping.signal.throwIfAborted();
      this.#running = running;
      await consumer.run({ autoCommit: false, eachBatchAutoResolve: false, eachBatch: async (payload) => this.#take(running, payload) });
      if (running.crash) throw running.crash;
    } catch (cause) {
      this.#failure = failing(cause, this.#failure);
      await leave(running);
      throw cause;
    }
  }

  #hear(running: Running): void {
    const { consumer } = running;
    const { REQUEST, HEARTBEAT, GROUP_JOIN, REBALANCING, STOP, DISCONNECT, CRASH, START_BATCH_PROCESS } = consumer.events;
    consumer.on(REQUEST, ({ payload: { apiName, duration } }) => {
      if (apiName === 'Heartbeat' || apiName === 'SyncGroup') running.sentMs = performance.now() - Math.max(0, duration);
    });
    consumer.on(HEARTBEAT, () => this.#running === running && this.#assignment?.lease.heard(running.sentMs));
    consumer.on(GROUP_JOIN, ({ payload }) => this.#assign(running, payload.memberAssignment));
    for (const event of [REBALANCING, STOP, DISCONNECT]) consumer.on(event, () => this.#end(running));
    consumer.on(CRASH, ({ payload: { error } }) => {
      running.crash = error;
      this.#failure = failing(error, this.#failure);
      this.#end(running);
      if (this.#running === running) this.#begin();
    });
    // Nothing but marks of transactions, which nobody is given.
    consumer.on(START_BATCH_PROCESS, ({ payload }) => {
      if (this.#running === running && payload.batchSize === 0) this.#assignment?.lane(payload)?.skip(Number(payload.lastOffset) + 1);
    });
  }

  /** The partitions may be given to others from now on. */
  #end(running = this.#running): void {
    if (running !== this.#running || !this.#assignment || this.#assignment.ended.aborted) return;
    this.#lostMs = performance.now();
    this.#assignment.end();
  }

  #assign(running: Running, given: Readonly<Record<string, readonly number[]>>): void {
    if (running !== this.#running || this.#stopping.signal.aborted) return;
    this.#end(running);
    const places = Object.entries(given).flatMap(([topic, partitions]) => partitions.map((partition) => ({ topic, partition })));
    const lease = new MemberLease(running.sentMs, this.options.sessionMs / 2);
    this.#assignment = new Assignment(places, lease, this.#assignment?.settled() ?? Promise.resolve());
    this.#commit = undefined;
    running.consumer.pause(this.#names.map((topic) => ({ topic })));
    void this.#open(running, this.#assignment);
  }

  async #open({ consumer }: Running, assignment: Assignment): Promise<void> {
    const { places, ended } = assignment;
    await assignment.before;
    const startOf = await untilDone(ended, () => this.options.startsAt(places));
    if (!startOf || ended.aborted) return;
    assignment.open(this.#lanes(consumer, assignment, startOf));
    for (const place of places) consumer.seek({ ...place, offset: String(startOf(place)) });
    consumer.resume(this.#names.map((topic) => ({ topic })));
    this.#failure = undefined;
    this.#joined.resolve();
    this.#progress();
  }

  #lanes(consumer: Consumer, assignment: Assignment, startOf: (place: Place) => number): (place: Place) => Lane {
    const { topics, codec } = this.options;
    const receiver = this.options.receiver(assignment);
    return (place) => {
      const progress = (): void => {
        if (assignment.isOpen && lane.isPaused && lane.waitingBytes < boundOf(assignment) / 2) {
          lane.isPaused = false;
          consumer.resume([{ topic: place.topic, partitions: [place.partition] }]);
        }
        this.#progress();
      };
      const topic = topics.get(place.topic)!;
      const lane = new Lane({
        topic,
        partition: place.partition,
        from: startOf(place),
        codec,
        receiver,
        ended: assignment.ended,
        progress,
      });
      return lane;
    };
  }

  #take(running: Running, payload: EachBatchPayload): void {
    const { batch } = payload;
    const assignment = running === this.#running ? this.#assignment : undefined;
    const lane = assignment?.lane(batch);
    if (!assignment || !lane) return;
    const { topic, partition, messages } = batch;
    if (!lane.accepts(Number((batch as typeof batch & { readonly fetchedOffset: string }).fetchedOffset))) {
      running.consumer.seek({ topic, partition, offset: String(lane.next) });
      return;
    }
    const last = batch.lastOffset();
    payload.resolveOffset(last);
    this.#commit = (positions) => payload.commitOffsetsIfNecessary(positions);
    lane.push(messages, Number(last) + 1);
    if (lane.waitingBytes < boundOf(assignment)) return;
    lane.isPaused = true;
    payload.pause();
  }

  #hasReached(ends: Extents): boolean {
    const assignment = this.#assignment;
    if (!assignment?.isOpen) return false;
    return assignment.places.every((place) => assignment.lane(place)!.taken >= (ends.get(place.topic)?.[place.partition]?.high ?? 0));
  }

  #progress(): void {
    const waiters = this.#waiters;
    this.#waiters = [];
    for (const wake of waiters) wake();
  }
}

async function leave({ client, consumer }: Running): Promise<void> {
  await within(
    leaveMs,
    consumer.disconnect().catch(() => undefined),
  );
  client.cut();
}

const boundOf = ({ places }: Assignment): number => Math.max(leastLaneBytes, waitingBytes / places.length);

function offsets(positions: readonly Position[]): Offsets {
  const byTopic = Map.groupBy(positions, ({ topic }) => topic);
  return {
    topics: [...byTopic].map(([topic, of]) => ({
      topic,
      partitions: of.map(({ partition, offset }) => ({ partition, offset: String(offset) })),
    })),
  };
}

const notRead = (): TelemetryError => logUnavailable('The log is not read any more.');
const givenAway = (): TelemetryError => logUnavailable('The group has given the partitions to other members.');
