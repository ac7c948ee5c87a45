import type { Message } from 'kafkajs';
import { partitionName, type TopicPartition } from '../topic-partition.js';
import { failing, patienceMs, type Failure } from '../trouble.js';

/** A record on its way. */
export interface Outgoing extends TopicPartition {
  readonly message: Message;
  readonly bytes: number;
  /** See `Topic.isUrgent`. */
  readonly isUrgent?: boolean | undefined;
}

/** Records that were handed over together. */
export interface Call {
  /** Records that are not yet in the log. */
  left: number;
  ended: boolean;
  readonly bytes: number;
  readonly places: ReadonlySet<SendPlace>;
  readonly timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: Error): void;
}

export interface Item extends Outgoing {
  readonly call: Call;
}

/** A broker refuses a batch a little above this. */
const partBytes = 1_000_000;

/** A partition, and what waits to be sent to it, in order. */
export class SendPlace {
  readonly name: string;
  /** Whether some of it is in a send or about to be sent again. One send at a time keeps the order of its records. */
  isOut = false;
  /** Which line of its leader it is in: refused partitions have one of their own, and the others do not wait with them. */
  line: string;
  /** Attempts that failed since the last one that worked. */
  failures = 0;
  #waiting: Item[] = [];
  #failure: Failure | undefined;
  #failedMs = 0;

  /** @param home the line that it is in while all is well. */
  constructor(
    readonly partition: TopicPartition,
    private readonly home: string,
  ) {
    this.name = partitionName(partition);
    this.line = home;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Why nothing can be sent, since the attempt that failed first; undefined when the last one worked, or was long ago. */
  get failure(): Failure | undefined {
    return this.isOut || performance.now() - this.#failedMs < patienceMs ? this.#failure : undefined;
  }

  push(item: Item): void {
    this.#waiting.push(item);
  }

  /** What the next send may hold of it, without what nobody waits for any more. */
  take(): readonly Item[] {
    const items: Item[] = [];
    let [n, bytes] = [0, 0];
    for (; n < this.#waiting.length; n++) {
      const item = this.#waiting[n]!;
      if (item.call.ended) continue;
      bytes += item.bytes;
      if (items.length > 0 && bytes > partBytes) break;
      items.push(item);
    }
    this.#waiting = this.#waiting.slice(n);
    return items;
  }

  worked(): void {
    this.isOut = false;
    this.line = this.home;
    this.failures = 0;
    this.#failure = undefined;
  }

  /** Takes back what an attempt has not brought into the log. */
  failed(items: readonly Item[], error: unknown): void {
    this.failures++;
    this.#failure = failing(error, this.failure);
    this.#failedMs = performance.now();
    this.#waiting = [...items, ...this.#waiting];
  }

  /** Lets go of what nobody waits for any more. Calls are given up in their order, so that is at the front. */
  dropEnded(): void {
    const n = this.#waiting.findIndex(({ call }) => !call.ended);
    if (n !== 0) this.#waiting = n < 0 ? [] : this.#waiting.slice(n);
  }
}
