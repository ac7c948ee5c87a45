import type { AnyTopic, Position, StreamRecord, Unreadable } from './topic.js';

export interface FollowOptions {
  readonly topics: readonly AnyTopic[];
  /**
   * `beginning` is the first record that there is, `end` the next one that is appended. With positions only the partitions that they name are
   * read, each from its offset on.
   */
  readonly from: 'beginning' | 'end' | readonly Position[];
  /** The partitions to read of each topic, all when left out. Others are not even fetched. */
  readonly partitions?: readonly number[];
  /** `end` stops the reading where each partition ended at the call. Left out, it goes on until it is stopped. */
  readonly to?: 'end';
  /** Hands over each record with its bytes as the value and null for a tombstone, so that no record is unreadable. */
  readonly asBytes?: boolean;
  /**
   * Takes records of any of the partitions, each partition in offset order. It is called again for a partition only when its last promise has
   * settled, which holds the reading back. A rejection gives the same records again, after a pause.
   */
  readonly take: (records: readonly StreamRecord[]) => Promise<void> | void;
  /** Takes a record that cannot be decoded; the partition goes on once it resolves. */
  readonly unreadable: (record: Unreadable) => Promise<void> | void;
  /**
   * Nothing is handed over any more. With a `LogGap` records may have been missed, and whoever follows the topic again from its beginning gets
   * all that is left; any other error is for good, for example `log_corrupt`.
   */
  readonly stopped: (error: Error) => void;
}

/** Records may be gone that a reader was not given, tombstones among them: by their age, or because somebody has deleted them. */
export class LogGap extends Error {}

/** A reading without a group: it keeps no offsets, and others do not notice it. */
export interface Following {
  /** Resolves when everything that was in the log at the call is taken, up to `to`. Rejects when the log cannot be read so far. */
  caughtUp(): Promise<void>;
  /** Milliseconds since everything that was in the log was taken; before that, since the call. */
  ageMs(): number;
  /** Records that are known to be in the log, up to `to`, and are not taken. */
  lag(): number;
  /**
   * Where each partition goes on that is read: what stands before that offset is not handed over any more. Empty until the log has said where
   * the partitions begin and end.
   */
  positions(): readonly Position[];
  /** Resolves when the running `take` has settled; nothing is handed over afterwards. */
  stop(): Promise<void>;
}
