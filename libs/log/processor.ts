import type { Lease } from '#model';
import type { AnyTopic, StreamRecord } from './topic.js';

/** A consumer group with one sentence of work. Its effects are idempotent: a record may come twice. */
export interface Processor<V = unknown> {
  /** Name of the consumer group. */
  readonly group: string;
  readonly inputs: readonly AnyTopic[];
  /**
   * Resolves when the next batch of these partitions may come; what the processor holds in memory is bounded. It drops what it holds of
   * a lost lease instead of making an effect of it.
   */
  process(records: readonly StreamRecord<V>[], lease: Lease): Promise<void>;
  /** Resolves when the effects of everything processed before the call are durable and visible. */
  checkpoint(): Promise<void>;
}
