import type { Asker } from '../asker.js';
import type { Fetched, Wanted } from '../fetch/fetch-loop.js';
import { Lane, type LaneOptions } from '../fetch/lane.js';
import { OutOfRange } from '../fetch/out-of-range.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { failing, type Failure } from '../trouble.js';

interface AssignedPartitionParts {
  readonly asker: Asker;
  /** All partitions of one reader share a room for what waits. */
  readonly reader: object;
  /** It ends before what was fetched of it: other records may get the same offsets, so nothing that waits can be trusted. */
  readonly shrunk: () => void;
  readonly lane: LaneOptions;
}

/** One partition of an assignment. */
export class AssignedPartition implements Wanted {
  readonly name: string;
  readonly topic: string;
  readonly partition: number;
  readonly reader: object;
  readonly lane: Lane;
  readonly #outOfRange: OutOfRange;
  #failure: Failure | undefined;

  constructor(
    of: TopicPartition,
    private readonly parts: AssignedPartitionParts,
  ) {
    this.name = partitionName(of);
    this.topic = of.topic;
    this.partition = of.partition;
    this.reader = parts.reader;
    this.lane = new Lane(parts.lane);
    this.#outOfRange = new OutOfRange(() => parts.asker.extentOf(of));
  }

  get next(): number {
    return this.lane.next;
  }

  get waitingBytes(): number {
    return this.lane.waitingBytes;
  }

  /** Why it cannot be fetched, or waits for a schema; undefined when it does not. */
  get failure(): Failure | undefined {
    return this.#failure ?? this.lane.failure;
  }

  fetched({ messages, next }: Fetched): void {
    this.#failure = undefined;
    this.#outOfRange.forget();
    this.lane.push(messages, next);
  }

  failed(error: unknown): void {
    this.#failure = failing(error, this.#failure);
  }

  /** Records that are gone were deleted by retention, and are missed. */
  async outOfRange(): Promise<void> {
    const missing = await this.#outOfRange.missing(this.next);
    if (missing?.is === 'gone') this.lane.skip(missing.low);
    if (missing?.is === 'ended') this.parts.shrunk();
  }
}
