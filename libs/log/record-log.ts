import type { Lease } from '#model';
import type { Following, FollowOptions } from './follow.js';
import type { AnyTopic, Entry, Headers, Position, StreamRecord, Unreadable } from './topic.js';

export const RECORD_LOG = Symbol('RecordLog');
/** Provided as true where no other process can have the log open: whoever wrote to it before this process started is gone. */
export const ONLY_PROCESS = Symbol('OnlyProcess');

/**
 * Takes records of any of the subscribed partitions, each partition in offset order. It is called again for a partition only after the
 * promise of its last call has settled. A rejection gives the same records again, after a pause. When the group gives partitions to other
 * members, everything that is not committed comes again from the last commit on, under a new lease.
 */
export type BatchHandler = (records: readonly StreamRecord[], lease: Lease) => Promise<void>;

export interface ConsumerOptions {
  readonly group: string;
  readonly topics: readonly AnyTopic[];
  /**
   * Where a group begins in a partition of which it has committed nothing; the beginning when left out. With `end` everything comes that is
   * appended after the group has joined for the first time, even while it has no members.
   */
  readonly from?: 'beginning' | 'end';
  /** Called when the group has given the member these partitions of every topic, before anything of them is handed over under their lease. */
  readonly given?: (lease: Lease, partitions: readonly number[]) => void;
  readonly handler: BatchHandler;
  /** Takes what the codec refused; the partition goes on once it resolves. */
  readonly unreadable: (record: Unreadable, lease: Lease) => Promise<void>;
  /** The log cannot be read any further, for example `log_corrupt`; nothing is delivered afterwards. */
  readonly stopped: (error: Error) => void;
}

/** How many records of one partition a group has not committed. */
export interface PartitionLag {
  readonly topic: string;
  readonly partition: number;
  readonly records: number;
}

export interface Subscription {
  /** Moves the group's offsets; what was delivered and not committed is delivered again to the next member. Never moves one back. */
  commit(positions: readonly Position[]): Promise<void>;
  /** Resolves when the handler has taken all that was in the log at the call. Rejects when the log cannot be read so far. */
  caughtUp(): Promise<void>;
  /** Records appended and not yet committed by the group, over all partitions of its topics; while it is far behind, at most so many. */
  lag(): Promise<number>;
  /** The same for each partition of its topics. While the group is far behind, records may be left out whose partition is known only once they are read. */
  lags(): Promise<readonly PartitionLag[]>;
  /** Resolves when the running handler has settled; no handler is called afterwards. Commits nothing. */
  stop(): Promise<void>;
}

/**
 * Names the history of the records before an offset. An offset that was kept outside of the log, such as with a client, means the same place only
 * while its history has the same name: another log has another one, and so has a topic that was deleted and made again, and a log that was restored
 * from a copy, for what the copy lacked.
 */
export type History = (offset: number) => string;

/** The log. Appended once, read by many groups, never changed. */
export interface RecordLog {
  /**
   * Resolves once every entry is durable; entries of one call with one key keep their order, and a call that resolved before another
   * began comes before it. Rejects `log_unavailable`: some entries may then be durable, so append them all again.
   */
  append(entries: readonly Entry[]): Promise<void>;

  /**
   * Appends bytes as they are, without a look inside: for dead letters. Same promises as `append`. Of a dead letter that is larger than the
   * log takes it appends the beginning, with the number of all bytes in the header `bytes`. A dead letter that is there already (`letterId`)
   * is not appended again, unless both are parked at the same time or the first was parked long ago.
   */
  appendBytes(topic: string, key: string, bytes: Uint8Array, headers: Headers): Promise<void>;

  /** A record as bytes, none for a tombstone. Those of a record that a handler was given are the ones that stand in the log. */
  encoded(record: Pick<StreamRecord, 'topic' | 'value'>): Uint8Array;

  /**
   * Delivers every record from the group's offsets on (at first: as `from` says), at least once, and holds a bounded number of bytes
   * for a handler that is slow. Resolves when the group has joined.
   */
  consume(options: ConsumerOptions): Promise<Subscription>;

  /**
   * Reads topics without a group. What was fetched and waits for a slow `take` is at most about 16 MiB. All readings of a process that have no
   * end and no positions share one reader of the log; every other one is a reader of its own, so that it delays none of them.
   */
  follow(options: FollowOptions): Following;

  /** Resolves with the names of the histories of a topic. Rejects `log_unavailable`. */
  history(topic: AnyTopic): Promise<History>;
}
