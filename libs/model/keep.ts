import type { KeepName, OrganizationLimits } from './organization-limits.js';
import { bucketStartMs, type Interval, intervalMs } from './window.js';

const hourMs = intervalMs['1h'];

/** The first moment that is kept, an edge of a day in UTC. @param keepMs for how long; `Infinity` is for ever. */
export const keptFrom = (keepMs: number, nowMs: number): number =>
  keepMs === Infinity ? 0 : bucketStartMs(nowMs - keepMs, intervalMs['1d']);

/** How long an organization is to have something, milliseconds; `Infinity` where it does not say. */
export const keepMsOf = (limits: OrganizationLimits, name: KeepName): number => (limits[name] ?? Infinity) * hourMs;

/** The first moment that an organization is shown: of points, of buckets, and of events. */
export type ShownFrom = Readonly<Record<Interval | 'events', number>>;

export function shownFrom(limits: OrganizationLimits, nowMs: number): ShownFrom {
  const from = (name: KeepName): number => keptFrom(keepMsOf(limits, name), nowMs);
  const minutes = from('keep_1m_hours');
  return {
    raw: from('keep_points_hours'),
    '1m': minutes,
    '10m': minutes,
    '1h': from('keep_1h_hours'),
    '1d': from('keep_1d_hours'),
    events: from('keep_events_hours'),
  };
}
