import { partitionName, type TopicPartition } from '../topic-partition.js';
import type { MemberLease } from './member-lease.js';
import type { Lane } from '../lane.js';

/** What may wait for a slow receiver, over all partitions. */
const waitingBytes = 16 << 20;
const leastLaneBytes = 64 << 10;

/** The partitions that the group has given to its member, until it takes them back. */
export class Assignment {
  readonly #lanes = new Map<string, Lane>();
  readonly #ended = new AbortController();
  #isOpen = false;

  constructor(
    readonly places: readonly TopicPartition[],
    readonly lease: MemberLease,
    /** Resolves when what was handed over under the assignment before this one has been dealt with. */
    readonly before: Promise<void>,
  ) {}

  /** Aborted when nothing more is to be handed over. */
  get ended(): AbortSignal {
    return this.#ended.signal;
  }

  /** Whether it has a lane for each of its places. */
  get isOpen(): boolean {
    return this.#isOpen && !this.ended.aborted;
  }

  get lanes(): Iterable<Lane> {
    return this.#lanes.values();
  }

  /** What may wait in one lane, which is as much as there is room left: half of all for a busy one alone, about the same for each of many. */
  get laneBytes(): number {
    let heldBytes = 0;
    for (const { waitingBytes: bytes } of this.lanes) heldBytes += bytes;
    return Math.max(leastLaneBytes, waitingBytes - heldBytes);
  }

  open(laneOf: (place: TopicPartition) => Lane): void {
    for (const place of this.places) this.#lanes.set(partitionName(place), laneOf(place));
    this.#isOpen = true;
  }

  lane(place: TopicPartition): Lane | undefined {
    return this.isOpen ? this.#lanes.get(partitionName(place)) : undefined;
  }

  /** Hands over nothing more; what was handed over is not ours any more. */
  end(): void {
    this.lease.lose();
    this.#ended.abort();
  }

  /** Hands over nothing more, and resolves when the receiver is done. The lease stands. */
  async finish(): Promise<void> {
    this.#ended.abort();
    await this.settled();
  }

  async settled(): Promise<void> {
    await this.before;
    await Promise.all([...this.lanes].map((lane) => lane.settled()));
  }
}
