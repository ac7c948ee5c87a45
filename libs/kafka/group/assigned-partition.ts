import type { Asker } from '../asker.js';
import type { Fetched, Wanted } from '../fetch/fetch-loop.js';
import { Lane, type LaneOptions } from '../fetch/lane.js';
import { OutOfRange } from '../fetch/out-of-range.js';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { failing, type Failure } from '../trouble.js';

interface AssignedPartitionParts {
  readonly asker: Asker;
  /** Stands for the assignment: its partitions share one bound for the bytes that wait. */
  readonly reader: object;
  /** Called when the partition ends before what was fetched of it: other records may get the same offsets, so what waits cannot be trusted. */
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

  /** Why the partition waits for a schema, or cannot be fetched. While records wait, an old failure is not told: a full partition is not fetched, so nothing would clear the failure. */
  get failure(): Failure | undefined {
    return this.lane.failure ?? (this.waitingBytes === 0 ? this.#failure : undefined);
  }

  fetched({ messages, next }: Fetched): void {
    this.#failure = undefined;
    this.#outOfRange.forget();
    this.lane.push(messages, next);
  }

  failed(error: unknown): void {
    this.#failure = failing(error, this.#failure);
  }

  /** Goes on at the first record there is when retention has deleted the ones before; begins anew when the partition has ended too early. */
  async outOfRange(): Promise<void> {
    const missing = await this.#outOfRange.missing(this.next);
    if (missing?.is === 'gone') this.lane.skip(missing.low);
    if (missing?.is === 'ended') this.parts.shrunk();
  }
}
