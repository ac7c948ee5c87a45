import type { EachBatchPayload, Offsets } from 'kafkajs';
import type { AnyTopic, Position } from '#log';
import type { TelemetryError } from '#model';
import type { Extents } from '../asker.js';
import { Lane, laneRoom, type Fetched, type Receiver } from '../fetch/lane.js';
import type { RecordCodec } from '../fetch/kafka-record.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { logUnavailable, reasonOf, untilDone, type Failure } from '../trouble.js';
import type { MemberLease } from './member-lease.js';
import type { Session } from './session.js';

/** What a member does with the partitions that it is given. */
export interface AssignmentOptions {
  /** By the name that Kafka has for them. */
  readonly topics: ReadonlyMap<string, AnyTopic>;
  readonly codec: RecordCodec;
  /** Finds the offset at which each partition begins. When it rejects, it is called again. */
  readonly startsAt: (partitions: readonly TopicPartition[], commit: CommitStart) => Promise<(partition: TopicPartition) => number>;
  /** What to do with the records of one assignment. */
  readonly receiver: (assignment: Assignment) => Receiver;
  /** A partition ends before what was read of it; the member begins anew. */
  readonly shrunk: (partition: TopicPartition) => void;
}

/** Commits where partitions begin that were given a moment ago. */
export type CommitStart = (positions: readonly Position[]) => Promise<void>;

/**
 * The partitions that the group has given to its member, until it takes them back. Records are fetched ahead of the receiver up to a bound;
 * what waits is dropped at the end.
 */
export class Assignment {
  readonly #lanes = new Map<string, Lane>();
  readonly #ended = new AbortController();
  /** Known once something was fetched: kafkajs gives it with a batch. */
  #commit: ((offsets: Offsets) => Promise<void>) | undefined;
  #isOpen = false;

  /**
   * @param before resolves when what was handed over under the assignment before this one has been dealt with.
   * @param progress called when something was taken.
   */
  constructor(
    private readonly session: Session,
    readonly partitions: readonly TopicPartition[],
    readonly lease: MemberLease,
    private readonly before: Promise<void>,
    private readonly options: AssignmentOptions,
    private readonly progress: () => void,
  ) {}

  /** Aborted when nothing more is to be handed over. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether it has a lane for each of its partitions. */
  get isOpen(): boolean {
    return this.#isOpen && !this.ended.aborted;
  }

  /** Why a partition waits for a schema; undefined when none does. */
  get failure(): Failure | undefined {
    return this.isOpen ? this.#lanes.values().find(({ failure }) => failure)?.failure : undefined;
  }

  /** Begins to fetch. Resolves to false when the assignment has ended before. */
  async open(): Promise<boolean> {
    const { session, ended, options } = this;
    session.pause();
    await this.before;
    // In the same tick as the look at `ended`: later, kafkajs would commit in the name of the next assignment.
    const commit: CommitStart = async (positions) => (ended.aborted ? Promise.reject(givenAway()) : session.commit(positions));
    const startOf = await untilDone(ended, () => options.startsAt(this.partitions, commit));
    if (!startOf || ended.aborted) return false;
    const receiver = options.receiver(this);
    for (const partition of this.partitions) {
      this.#lanes.set(partitionName(partition), this.#laneFor(partition, startOf(partition), receiver));
      session.seek(partition, startOf(partition));
    }
    this.#isOpen = true;
    session.resume();
    return true;
  }

  /** Takes what was fetched. */
  take(payload: EachBatchPayload): void {
    const { batch } = payload;
    const { topic, partition, messages } = batch;
    const { fetchedOffset, highWatermark } = batch as typeof batch & { readonly fetchedOffset: string };
    const lane = this.#laneOf({ topic, partition }, { from: Number(fetchedOffset), high: Number(highWatermark) });
    if (!lane) return;
    const last = batch.lastOffset();
    payload.resolveOffset(last);
    this.#commit = (positions) => payload.commitOffsetsIfNecessary(positions);
    lane.push(messages, Number(last) + 1);
    if (lane.waitingBytes < laneRoom(this.#lanes.values())) return;
    lane.isPaused = true;
    payload.pause();
  }

  /** Takes note that nothing but marks of transactions, which nobody is given, stood in what was fetched, up to that offset. */
  skip(partition: TopicPartition, fetched: Fetched, next: number): void {
    this.#laneOf(partition, fetched)?.skip(next);
  }

  /** Commits offsets of what was given out; none goes back. Rejects `log_unavailable` when the group refuses. */
  async commit(positions: readonly Position[]): Promise<void> {
    const lanes = positions.map((position) => [position, this.#lane(position)] as const);
    if (!this.lease.held() || lanes.some(([, lane]) => !lane)) throw givenAway();
    const ahead = lanes
      .map(([position, lane]) => [{ ...position, offset: lane!.behind(position.offset) }, lane!] as const)
      .filter(([{ offset }, lane]) => offset > lane.committed);
    if (ahead.length === 0) return;
    try {
      // kafkajs takes the generation of the group from here on, in this tick: a later one refuses the offsets.
      await this.#commit!(offsets(ahead.map(([position]) => position)));
    } catch (cause) {
      throw logUnavailable(`The group does not take offsets now: ${reasonOf(cause)}.`, cause);
    }
    for (const [{ offset }, lane] of ahead) lane.committed = Math.max(lane.committed, offset);
  }

  /** Commits marks of transactions: they may come after the receiver has committed the last record, or without any record. */
  commitMarks(): void {
    if (!this.#commit || !this.isOpen) return;
    // The caller's next check tries again.
    this.commit(this.partitions.map((one) => ({ ...one, offset: this.#lane(one)!.committed }))).catch(() => undefined);
  }

  /** Whether everything before these ends has been taken, as far as the partitions are of this assignment. */
  hasReached(ends: Extents): boolean {
    return this.isOpen && this.partitions.every((one) => this.#lane(one)!.taken >= (ends.get(one.topic)?.[one.partition]?.high ?? 0));
  }

  /** Hands over nothing more; what was handed over is not ours any more. */
  end(): void {
    this.lease.lose();
    this.#ended.abort();
  }

  /** Hands over nothing more, and resolves when the receiver is done. The lease stands. */
  async finish(): Promise<void> {
    if (this.isOpen) this.session.pause();
    this.#ended.abort();
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.before;
    await Promise.all(Array.from(this.#lanes.values(), (lane) => lane.settled()));
  }

  #lane(partition: TopicPartition): Lane | undefined {
    return this.isOpen ? this.#lanes.get(partitionName(partition)) : undefined;
  }

  /** The lane of a partition, if what was fetched is what it waits for; otherwise that is fetched again. */
  #laneOf(partition: TopicPartition, fetched: Fetched): Lane | undefined {
    const lane = this.#lane(partition);
    if (!lane || lane.accepts(fetched)) return lane;
    this.session.seek(partition, lane.next);
    return undefined;
  }

  #laneFor(of: TopicPartition, from: number, receiver: Receiver): Lane {
    const { topics, codec, shrunk } = this.options;
    const progress = (): void => {
      if (this.isOpen && lane.isPaused && lane.waitingBytes < laneRoom(this.#lanes.values()) / 2) {
        lane.isPaused = false;
        this.session.resume(of);
      }
      this.progress();
    };
    const [topic, ended, partition] = [topics.get(of.topic)!, this.ended, of.partition];
    const lane = new Lane({ topic, partition, from, codec, receiver, ended, progress, shrunk: () => shrunk(of) });
    return lane;
  }
}

function offsets(positions: readonly Position[]): Offsets {
  const byTopic = Map.groupBy(positions, ({ topic }) => topic);
  return {
    topics: [...byTopic].map(([topic, of]) => ({
      topic,
      partitions: of.map(({ partition, offset }) => ({ partition, offset: String(offset) })),
    })),
  };
}

export const givenAway = (): TelemetryError => logUnavailable('The group has given the partitions to other members.');
