import type { Asker } from '../asker.js';
import type { TopicPartition } from '../topic-partition.js';

/** What is behind an offset that a broker does not have: records before it are gone, or the partition ends before it. */
export type Missing = { readonly is: 'gone'; readonly low: number } | { readonly is: 'ended' };

/** Looks into offsets of one partition that a broker does not have. */
export class OutOfRange {
  #doubted: number | undefined;

  constructor(
    private readonly asker: Asker,
    private readonly of: TopicPartition,
  ) {}

  /**
   * Undefined when the broker may have the offset after all. That a partition has ended is believed the second time only: a broker may lack records for a
   * moment after a change of the leader.
   */
  async missing(offset: number): Promise<Missing | undefined> {
    const { topic, partition } = this.of;
    const extent = (await this.asker.extentsOf([topic])).get(topic)?.[partition];
    if (!extent) return undefined;
    if (offset < extent.low) return { is: 'gone', low: extent.low };
    const isSure = this.#doubted === offset;
    this.#doubted = offset > extent.high ? offset : undefined;
    return isSure && this.#doubted === offset ? { is: 'ended' } : undefined;
  }

  /** The broker had what it was asked for. */
  forget(): void {
    this.#doubted = undefined;
  }
}
