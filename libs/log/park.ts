import { TelemetryError } from '#model';
import { attemptsHeader, attemptsOf, deadLettersOf } from './dead-letter.js';
import type { RecordLog } from './record-log.js';
import type { Unreadable } from './topic.js';

/** Appends a record that a group cannot use to the dead letters of its topic, with its place and the reason. */
export function park(log: RecordLog, group: string, record: Unreadable): Promise<void> {
  const { topic, partition, offset, key, bytes, headers, reason } = record;
  const place = { topic: topic.name, partition: `${partition}`, offset: `${offset}` };
  const attempts = `${attemptsOf(headers) + 1}`;
  return log.appendBytes(deadLettersOf(topic.name), key, bytes, {
    reason: reason.slice(0, 1000),
    ...place,
    group,
    [attemptsHeader]: attempts,
  });
}

/** Whether another attempt with the same record would fail for ever while other records work. */
export function isOfARecord(error: unknown): boolean {
  if (!(error instanceof TelemetryError)) return !isWantOfMemory(error);
  return !error.retryable && error.code !== 'store_corrupt' && error.code !== 'log_corrupt';
}

/** What V8 and Node say when there is no memory for a buffer. */
function isWantOfMemory(error: unknown): boolean {
  const { name, message } = (error ?? {}) as Partial<Error>;
  return name === 'RangeError' && /Array buffer allocation failed|Failed to allocate memory/.test(message ?? '');
}
