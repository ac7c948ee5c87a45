import { isDeadLetters } from './dead-letter.js';
import type { AnyTopic } from './topic.js';

/** How many records a topic has. */
export interface TopicSize extends Pick<AnyTopic, 'partitions' | 'cleanup'> {
  readonly topic: string;
  readonly records: number;
}

/** How far a consumer group is in one partition. */
export interface Progress {
  readonly group: string;
  readonly topic: string;
  readonly partition: number;
  /** Offset of the next record that it wants. */
  readonly offset: number;
  /** Records that it has not committed. */
  readonly lag: number;
}

export interface GroupsReport {
  /** Every topic, and the topics of dead letters that have some. */
  readonly topics: readonly TopicSize[];
  /** Each partition that a group reads, but those that never had a record. */
  readonly groups: readonly Progress[];
}

/**
 * Where a group shall go on: at an offset, at the first record that was appended at a time or later (Unix milliseconds), or at the oldest record
 * that there is.
 */
export type Start = { readonly offset: number } | { readonly timestampMs: number } | 'beginning';

export interface Moved {
  /** The topics that the group reads. */
  readonly topics: readonly string[];
  /** Those of them whose first records are deleted: nobody can read these again. */
  readonly cut: readonly string[];
}

/** Consumer groups as an operator sees them. Everything here rejects `log_unavailable`. */
export interface Groups {
  /** The names of all groups that have committed an offset, in order. */
  names(): Promise<readonly string[]>;
  report(): Promise<GroupsReport>;
  /**
   * Moves a group that has no members back in every topic that it reads, and in no partition forward: what the group has not committed it has
   * not done, and would never do. Durable when it resolves. Rejects OperatorError.
   */
  move(group: string, to: Start): Promise<Moved>;
}

/** What a report shows of the topics that there are. */
export const withoutEmptyLetters = (sizes: readonly TopicSize[]): readonly TopicSize[] =>
  sizes.filter(({ topic, records }) => records > 0 || !isDeadLetters(topic));
