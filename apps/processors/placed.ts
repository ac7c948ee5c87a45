import type { StreamRecord } from '#log';
import type { Placed } from '#stores';

/** Records as a store takes them. */
export function placed<V>(records: readonly StreamRecord<V>[]): Placed<V>[] {
  return records.flatMap(({ partition, offset, value }) => (value === null ? [] : [{ partition, offset, value }]));
}
