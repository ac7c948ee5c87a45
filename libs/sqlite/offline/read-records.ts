import { readLog, type AnyTopic, type StreamRecord } from '#log';
import type { FileLog } from '../log/file-log.js';

/** How far a pass over the log has come, in offsets. */
export interface PassProgress {
  readonly step: 'rebuild' | 'count' | 'compare';
  readonly done: number;
  readonly total: number;
}

/**
 * Hands over all records of some topics, but for the empty ones that `trim` leaves. `onTaken` hears after each batch before which offset everything is
 * taken. Resolves with how many records cannot be decoded, which are in no projection. Rejects `log_corrupt` at the first damaged row, and with what
 * `take` rejects with.
 */
export async function readRecords(
  log: FileLog,
  topics: readonly AnyTopic[],
  take: (records: readonly StreamRecord[]) => Promise<void> | void,
  onTaken: (next: number) => void = () => {},
): Promise<number> {
  let unreadable = 0;
  await readLog(log, {
    topics,
    from: 'beginning',
    take: async (records) => {
      const whole = records.filter(({ value }) => value !== null);
      if (whole.length > 0) await take(whole);
      onTaken(records.at(-1)!.offset + 1);
    },
    unreadable: () => void unreadable++,
  });
  onTaken(log.head);
  return unreadable;
}
