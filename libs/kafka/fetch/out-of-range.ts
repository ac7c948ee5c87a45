/** What is behind an offset that a broker does not have: records before it are gone, or the partition ends before it. */
export type Missing = { readonly is: 'gone'; readonly low: number } | { readonly is: 'ended' };

/** Looks into offsets of one partition that a broker does not have. */
export class OutOfRange {
  #doubted: number | undefined;

  /** @param extent asks the broker where the partition begins and ends; undefined when it does not have the partition now. */
  constructor(private readonly extent: () => Promise<{ readonly low: number; readonly high: number } | undefined>) {}

  /**
   * Undefined when the broker may have the offset after all. That a partition has ended is believed the second time only: a broker may lack records for a
   * moment after a change of the leader.
   */
  async missing(offset: number): Promise<Missing | undefined> {
    const extent = await this.extent();
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
