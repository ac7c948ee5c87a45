import type { Placed } from '#stores';

type Place = Pick<Placed<unknown>, 'partition' | 'offset'>;

/** The records that were taken under a lease. Those of one batch are not taken in their order, and a batch of which not all were taken comes again. */
export class Taken {
  /** By partition, the last offset up to which all records were taken. */
  readonly #through = new Map<number, number>();
  /** By partition, the offsets behind that one whose records were taken. */
  readonly #more = new Map<number, Set<number>>();

  has({ partition, offset }: Place): boolean {
    return offset <= (this.#through.get(partition) ?? -1) || (this.#more.get(partition)?.has(offset) ?? false);
  }

  add({ partition, offset }: Place): void {
    const its = this.#more.get(partition);
    if (its) its.add(offset);
    else this.#more.set(partition, new Set([offset]));
  }

  /** Notes that all records of a batch were taken, and so all records before them in their partitions. */
  all(batch: readonly Place[]): void {
    for (const { partition, offset } of batch) {
      this.#through.set(partition, Math.max(offset, this.#through.get(partition) ?? -1));
      this.#more.delete(partition);
    }
  }
}
