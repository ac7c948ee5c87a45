import type { FollowOptions } from './follow.js';
import type { RecordLog } from './record-log.js';
import type { Unreadable } from './topic.js';

export type ReadOptions = Omit<FollowOptions, 'to' | 'stopped' | 'unreadable'> & Partial<Pick<FollowOptions, 'unreadable'>>;

/**
 * Reads up to where the log ends at the call. Resolves when everything is taken. Rejects with what `take` rejects with, with an Error for a record
 * that cannot be decoded unless `unreadable` takes it, and when the log cannot be read so far.
 */
export async function readLog(log: Pick<RecordLog, 'follow'>, options: ReadOptions): Promise<void> {
  const failed = Promise.withResolvers<never>();
  const { take, unreadable = refuse } = options;
  const orFail =
    <T>(work: (given: T) => Promise<void> | void) =>
    async (given: T): Promise<void> => {
      try {
        await work(given);
      } catch (error) {
        failed.reject(error);
        throw error;
      }
    };
  const following = log.follow({ ...options, to: 'end', take: orFail(take), unreadable: orFail(unreadable), stopped: failed.reject });
  try {
    await Promise.race([following.caughtUp(), failed.promise]);
  } finally {
    await following.stop();
  }
}

function refuse({ topic, partition, offset, reason }: Unreadable): never {
  throw new Error(`the record of ${topic.name}/${partition} at offset ${offset} cannot be read: ${reason}`);
}
