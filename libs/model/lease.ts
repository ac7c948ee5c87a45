/**
 * The right of a consumer group's member to make effects of what it was given, from one assignment of partitions to the next. What was
 * given under a lease that is lost, and is not committed, comes again under another lease: here or elsewhere.
 */
export interface Lease {
  /** Whether the right surely stands; once false, false for ever. Cheap, and to be asked in the same tick as the effect. */
  held(): boolean;
}

/** The lease of a group that has one member for good. */
export const forever: Lease = { held: () => true };
