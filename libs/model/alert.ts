import { hash } from 'node:crypto';
import type { Monitor, Offline, Threshold } from './monitor.js';
import { type EventBatch, noTags } from './point.js';

/** Why an alert has resolved: a value was back inside, the source was heard again, or the definition of its monitor ended. */
export const resolutions = ['inside', 'heard', 'changed', 'deleted'] as const;
export type Resolution = (typeof resolutions)[number];

/** An alert as one of its two transitions has left it: triggered, or resolved. Of each there is one. */
export interface Alert {
  /** The same wherever the same transition is decided again. */
  readonly alertId: string;
  readonly monitorId: string;
  readonly sourceId: string;
  readonly metric: string | null;
  /** The value that made the transition; null where none did. */
  readonly value: number | null;
  /** The condition, as it was when the alert fired: one of these two. */
  readonly threshold: Threshold | null;
  readonly offline: Offline | null;
  /** Unix milliseconds: of the point for a threshold, of the server for the rest. */
  readonly triggeredMs: number;
  /** Null while the alert is open. */
  readonly resolvedMs: number | null;
  readonly resolution: Resolution | null;
}

/** Transitions of one source that were decided together, in their order. */
export interface AlertBatch {
  readonly orgId: string;
  readonly sourceId: string;
  readonly alerts: readonly Alert[];
}

/** The condition of a monitor is met at a time; the condition is the one that is not null. */
export function triggered(
  { orgId, monitorId, definedMs, metric }: Monitor,
  sourceId: string,
  condition: Pick<Alert, 'threshold' | 'offline'>,
  at: { readonly timestampMs: number; readonly value: number | null },
): Alert {
  const kind = condition.threshold ? 'threshold' : 'offline';
  const alertId = idOf(orgId, monitorId, definedMs, sourceId, kind, at.timestampMs);
  const open = { triggeredMs: at.timestampMs, resolvedMs: null, resolution: null };
  return { alertId, monitorId, sourceId, metric, value: at.value, ...condition, ...open };
}

/** An alert never ends before it began, whatever the clocks say. */
export const resolved = (alert: Alert, resolution: Resolution, atMs: number, value: number | null = null): Alert => ({
  ...alert,
  value,
  resolvedMs: Math.max(atMs, alert.triggeredMs),
  resolution,
});

const idOf = (...parts: readonly (string | number)[]): string => `alert_${hash('sha256', parts.join('\0'), 'hex').slice(0, 24)}`;

/** An alert as clients read it. */
export function alertJson({ threshold, offline, ...alert }: Alert): Readonly<Record<string, unknown>> {
  const { severity, message } = (threshold ?? offline)!;
  return {
    alert_id: alert.alertId,
    monitor_id: alert.monitorId,
    source_id: alert.sourceId,
    metric: alert.metric,
    condition: threshold ? 'threshold' : 'offline',
    value: alert.value,
    threshold: threshold && thresholdJson(threshold),
    ...(offline && { offline: { timeout_seconds: offline.timeoutMs / 1000 } }),
    severity,
    message,
    triggered_at_ms: alert.triggeredMs,
    resolved_at_ms: alert.resolvedMs,
    ...(alert.resolution && { resolved_by: alert.resolution }),
  };
}

/** The bounds of a threshold as clients write them: `clear` is one number where there is one bound. */
export function thresholdJson({ min, max, clearMin, clearMax, forMs }: Threshold): Readonly<Record<string, unknown>> {
  const both = { ...(clearMin !== null && { min: clearMin }), ...(clearMax !== null && { max: clearMax }) };
  const clear = min !== null && max !== null ? both : (clearMin ?? clearMax);
  return {
    ...(min !== null && { min }),
    ...(max !== null && { max }),
    ...((clearMin !== null || clearMax !== null) && { clear }),
    ...(forMs > 0 && { for_seconds: forMs / 1000 }),
  };
}

/** The events of these transitions in the log of their source, at the times of the transitions. */
export function alertEvents({ orgId, sourceId, alerts }: AlertBatch, receivedMs: number): EventBatch {
  const events = alerts.map((alert, place) => ({
    metric: alert.resolvedMs === null ? 'alert.triggered' : 'alert.resolved',
    timestampMs: alert.resolvedMs ?? alert.triggeredMs,
    value: JSON.stringify(alertJson(alert)),
    isJson: true,
    tags: noTags,
    place,
    ordinal: 0,
  }));
  return { orgId, sourceId, receivedMs, origin: 'service', events };
}
