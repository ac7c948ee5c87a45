import type { AnyTopic, Position } from '#log';
import type { TelemetryError } from '#model';
import type { Asker, Extents } from '../asker.js';
import type { Fetcher } from '../fetch/fetcher.js';
import type { RecordCodec } from '../fetch/kafka-record.js';
import type { Receiver } from '../fetch/lane.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { logUnavailable, reasonOf, untilDone, type Failure } from '../trouble.js';
import { AssignedPartition } from './assigned-partition.js';
import type { MemberLease } from './member-lease.js';
import type { Session } from './session.js';

/** What a member does with the partitions that it is given. */
export interface AssignmentOptions {
  /** By the name that Kafka has for them. */
  readonly topics: ReadonlyMap<string, AnyTopic>;
  readonly codec: RecordCodec;
  readonly asker: Asker;
  readonly fetcher: Fetcher;
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
  readonly #partitions = new Map<string, AssignedPartition>();
  readonly #ended = new AbortController();
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

  /** Whether its partitions are read. */
  get isOpen(): boolean {
    return this.#isOpen && !this.ended.aborted;
  }

  /** Why a partition cannot be read, or waits for a schema; undefined when none does. */
  get failure(): Failure | undefined {
    return this.isOpen ? this.#partitions.values().find(({ failure }) => failure)?.failure : undefined;
  }

  /** Begins to fetch. Resolves to false when the assignment has ended before. */
  async open(): Promise<boolean> {
    const { session, ended, options } = this;
    await this.before;
    // In the same tick as the look at `ended`: later, kafkajs would commit in the name of the next assignment.
    const commit: CommitStart = async (positions) => (ended.aborted ? Promise.reject(givenAway()) : session.commit(positions));
    const startOf = await untilDone(ended, () => options.startsAt(this.partitions, commit));
    if (!startOf || ended.aborted) return false;
    const receiver = options.receiver(this);
    for (const of of this.partitions) {
      const read = this.#read(of, startOf(of), receiver);
      this.#partitions.set(read.name, read);
    }
    this.#isOpen = true;
    options.fetcher.add(this.#partitions.values());
    return true;
  }

  /** Commits offsets of what was given out; none goes back. Rejects `log_unavailable` when the group refuses. */
  async commit(positions: readonly Position[]): Promise<void> {
    const lanes = positions.map((position) => [position, this.#of(position)?.lane] as const);
    if (!this.lease.held() || lanes.some(([, lane]) => !lane)) throw givenAway();
    const ahead = lanes
      .map(([position, lane]) => [{ ...position, offset: lane!.behind(position.offset) }, lane!] as const)
      .filter(([{ offset }, lane]) => offset > lane.committed);
    if (ahead.length === 0) return;
    try {
      // kafkajs takes the generation of the group from here on, in this tick: a later one refuses the offsets.
      await this.session.commit(ahead.map(([position]) => position));
    } catch (cause) {
      throw logUnavailable(`The group does not take offsets now: ${reasonOf(cause)}.`, cause);
    }
    for (const [{ offset }, lane] of ahead) lane.committed = Math.max(lane.committed, offset);
  }

  /** Commits marks of transactions: they may come after the receiver has committed the last record, or without any record. */
  commitMarks(): void {
    if (!this.isOpen) return;
    // The caller's next check tries again.
    this.commit(this.partitions.map((one) => ({ ...one, offset: this.#of(one)!.lane.committed }))).catch(() => undefined);
  }

  /** Whether everything before these ends has been taken, as far as the partitions are of this assignment. */
  hasReached(ends: Extents): boolean {
    return this.isOpen && this.partitions.every((one) => this.#of(one)!.lane.taken >= (ends.get(one.topic)?.[one.partition]?.high ?? 0));
  }

  /** Hands over nothing more; what was handed over is not ours any more. */
  end(): void {
    this.lease.lose();
    this.#end();
  }

  /** Hands over nothing more, and resolves when the receiver is done. The lease stands. */
  async finish(): Promise<void> {
    this.#end();
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.before;
    await Promise.all(Array.from(this.#partitions.values(), ({ lane }) => lane.settled()));
  }

  #end(): void {
    this.#ended.abort();
    this.options.fetcher.remove(this.#partitions.values());
  }

  #of(partition: TopicPartition): AssignedPartition | undefined {
    return this.isOpen ? this.#partitions.get(partitionName(partition)) : undefined;
  }

  #read(of: TopicPartition, from: number, receiver: Receiver): AssignedPartition {
    const { topics, codec, asker, fetcher, shrunk } = this.options;
    const progress = (): void => {
      fetcher.taken();
      this.progress();
    };
    return new AssignedPartition(of, {
      asker,
      reader: this,
      shrunk: () => shrunk(of),
      lane: { topic: topics.get(of.topic)!, partition: of.partition, from, codec, receiver, ended: this.ended, progress },
    });
  }
}

export const givenAway = (): TelemetryError => logUnavailable('The group has given the partitions to other members.');
