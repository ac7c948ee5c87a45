import type { Alert, AlertBatch } from './alert.js';

/** Alerts of a source that are known after they have resolved. All of them are in the log of the source. */
export const maxResolvedKnown = 20;

/** The alerts of one source as their last transition has left them: all that are open, and the newest that are not. */
export interface SourceAlerts {
  readonly orgId: string;
  readonly sourceId: string;
  /** Oldest transition first. */
  readonly alerts: readonly Alert[];
}

/** When an alert changed last, Unix milliseconds. */
export const changedMs = ({ triggeredMs, resolvedMs }: Alert): number => resolvedMs ?? triggeredMs;

/** What is known after transitions, perhaps some that are known; the same object when they say nothing new. */
export function afterTransitions(known: SourceAlerts | undefined, { orgId, sourceId, alerts }: AlertBatch): SourceAlerts {
  const byId = new Map(known?.alerts.map((alert) => [alert.alertId, alert]));
  let isNew = false;
  for (const alert of alerts) {
    const before = byId.get(alert.alertId);
    // One that has resolved stays so: its beginning comes again after a crash.
    if (before && (before.resolvedMs !== null || alert.resolvedMs === null)) continue;
    byId.delete(alert.alertId);
    byId.set(alert.alertId, alert);
    isNew = true;
  }
  if (known && !isNew) return known;
  const all = [...byId.values()];
  const resolved = all.filter(({ resolvedMs }) => resolvedMs !== null);
  const dropped = new Set(resolved.slice(0, Math.max(0, resolved.length - maxResolvedKnown)));
  return { orgId, sourceId, alerts: all.filter((alert) => !dropped.has(alert)) };
}
