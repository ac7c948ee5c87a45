/**
 * The right of a consumer group's member to make effects of what it was given, from one assignment of partitions to the next. What was
 * given under a lease that is lost, and is not committed, comes again under another lease: here or elsewhere.
 */
export interface Lease {
  /** Whether the right surely stands; once false, false for ever. Cheap, and to be asked in the same tick as the effect. */
  held(): boolean;
  /**
   * Runs an effect that takes a while, such as a request, which began while the right stood. `goesOn` tells it whether it may go on: once
   * the group wants the partitions back nothing new begins, but what is under way has a few seconds to end, and others get nothing before.
   * Left out where nobody else ever gets the partitions.
   */
  during?<T>(effect: (goesOn: () => boolean) => Promise<T>): Promise<T>;
  /**
   * Gives the right back at once, because what was given under this lease can no longer become an effect: what is not committed comes again
   * under another lease, here or elsewhere. Left out where nobody else ever gets the partitions.
   */
  giveUp?(): void;
}

/** Runs an effect that takes a while under a lease: see `Lease.during`. */
export const during = <T>(lease: Lease, effect: (goesOn: () => boolean) => Promise<T>): Promise<T> =>
  lease.during ? lease.during(effect) : effect(() => lease.held());

/** The lease of a group that has one member for good. */
export const forever: Lease = { held: () => true };
