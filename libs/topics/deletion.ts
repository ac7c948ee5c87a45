import { type Entry, entry } from '#log';
import type { EventBatch, PointBatch } from '#model';
import { events, points } from './topics.js';

/**
 * What deletes a source, or one metric of it: a record for each topic that has something of it, as topics have no common order. Append both at once.
 * @param metric null is all of the source.
 */
export function deletionOf(
  { orgId, sourceId }: Pick<PointBatch, 'orgId' | 'sourceId'>,
  metric: string | null,
  receivedMs: number,
): readonly [Entry<PointBatch>, Entry<EventBatch>] {
  const head = { orgId, sourceId, receivedMs, deleted: { metric } };
  return [entry(points, { ...head, series: [] }), entry(events, { ...head, origin: 'service', events: [] })];
}
