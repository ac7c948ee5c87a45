import type { Actor, DecidedOfLate } from './once.js';

/** What was decided of late in one area about one organization. */
export interface Decisions extends DecidedOfLate {
  readonly area: string;
  /** Empty for what is about no organization. */
  readonly orgId: string;
  /** How many changes its audit log was told so far. */
  readonly audited: number;
}

/** What became of the commands that were decided together, told once their effects are in the log. */
export interface Outcomes {
  readonly area: string;
  readonly orgId: string;
  readonly told: readonly Told[];
}

export interface Told {
  /** Of the command. */
  readonly id: string;
  /** See `Outcome`. */
  readonly outcome: string;
  readonly about: string;
}

/** What somebody has changed, in words for people. */
export interface AuditNote {
  /** Such as `monitor.changed`. A word never changes its meaning. */
  readonly did: string;
  /** Id of the thing. */
  readonly about: string;
  /** Short and plain; never a secret. */
  readonly text: string;
  /** Set where the note is not for the organization of the command: empty for a change that belongs to no organization. */
  readonly orgId?: '';
}

/** A change that was made, for the organization whose thing it is. After a crash a record may come twice, and then it is the same. */
export interface AuditEntry extends Omit<AuditNote, 'orgId'> {
  /** Names the change: the same in each copy. */
  readonly id: string;
  /** What kind of thing was changed, such as monitors. */
  readonly area: string;
  /** Counts the changes of one area and organization, from 0; 0 for each that nobody decides, such as deletions of sources. */
  readonly count: number;
  /** Empty for what is about no organization. */
  readonly orgId: string;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly by: Actor;
}
