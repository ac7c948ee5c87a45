/**
 * The right of a member of a consumer group to apply the records that it was given, from one assignment of partitions to the next. When
 * the lease is lost, records that are not committed are delivered again under another lease, here or elsewhere.
 */
export interface Lease {
  /** Whether the lease certainly holds; once false, it stays false. Cheap. Ask in the same tick in which the effect begins. */
  held(): boolean;
  /**
   * Runs an effect that takes a while, such as a request, which began while the lease held. `goesOn` tells the effect whether it may go on:
   * once the group wants the partitions back nothing new begins, but an effect in flight has a few seconds to end before others get the
   * partitions. Left out where nobody else ever gets the partitions.
   */
  during?<T>(effect: (goesOn: () => boolean) => Promise<T>): Promise<T>;
  /**
   * Gives the lease back at once, because records that were delivered under it can no longer be applied. Those that are not committed are
   * delivered again under another lease. Left out where nobody else ever gets the partitions.
   */
  giveUp?(): void;
}

/** Runs an effect that takes a while under a lease: see `Lease.during`. */
export const during = <T>(lease: Lease, effect: (goesOn: () => boolean) => Promise<T>): Promise<T> =>
  lease.during ? lease.during(effect) : effect(() => lease.held());

/** The lease of a group that has one member for good. */
export const forever: Lease = { held: () => true };
