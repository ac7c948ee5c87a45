import { type Entry, type RecordLog, type View } from '#log';

/** A view that is older may still show what is deleted. */
const maxAgeMs = 300_000;
const maxShowingMs = 5_000;

/** Whether the log has been silent for so long that the view may show what is deleted. */
export const isStale = (view: View<unknown>): boolean => view.ageMs() > maxAgeMs;

/**
 * Appends a record, and resolves once the view of this process shows it. Rejects `log_unavailable` when that takes longer than 5 seconds:
 * the record may be durable all the same.
 */
export async function appendShown<V>(log: RecordLog, view: View<V>, record: Entry<V>): Promise<void> {
  await log.append([record]);
  await view.until(record.key, (value) => (value === undefined) === (record.value === null), maxShowingMs);
}
