import type { Following, FollowOptions, RecordLog, StreamRecord, Unreadable } from '#log';

/** A reading without a group that remembers what it was given. */
export class LogReader {
  readonly records: StreamRecord[] = [];
  readonly unreadable: Unreadable[] = [];
  stoppedBy: Error | undefined;
  #following!: Following;

  /** `take` runs before the records count as received; a rejection leaves them out. */
  static of(log: RecordLog, options: Pick<FollowOptions, 'topics' | 'from'> & Partial<FollowOptions>): LogReader {
    const reader = new LogReader();
    reader.#following = log.follow({
      ...options,
      take: async (records) => {
        await options.take?.(records);
        reader.records.push(...records);
      },
      unreadable: (record) => void reader.unreadable.push(record),
      stopped: (error) => void (reader.stoppedBy = error),
    });
    return reader;
  }

  get following(): Following {
    return this.#following;
  }
}
