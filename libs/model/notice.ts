import { hash } from 'node:crypto';
import type { Alert, AlertBatch } from './alert.js';
import type { AlertPlace } from './delivery.js';

/** What one target is to be told: transitions of one source, or a test. */
export interface Notice {
  readonly orgId: string;
  readonly targetId: string;
  /** Where the transitions stand; null for a test. */
  readonly place: AlertPlace | null;
  /** Id of the delivery that tests the target; null for transitions. */
  readonly testId: string | null;
  readonly alerts: readonly Alert[];
}

/** The last record of `alerts.v1` about a source that targets were told of. */
export interface NoticedSource {
  readonly orgId: string;
  readonly sourceId: string;
  readonly digest: string;
}

/**
 * A short name for a record of alerts, by which records of one source are told apart. After a crash the last record of a source may come again, and no other one: a source has no second
 * record before its first is in the log.
 */
export const digestOf = ({ alerts }: AlertBatch): string =>
  hash('sha256', JSON.stringify(alerts.map(({ alertId, resolvedMs }) => [alertId, resolvedMs])), 'base64url').slice(0, 16);

/** What a test tells. */
export const sampleAlert = (nowMs: number): Alert => ({
  alertId: `alert_${'0'.repeat(24)}`,
  monitorId: 'sample',
  sourceId: 'sample-device',
  metric: 'sample.metric',
  value: 81,
  threshold: { min: null, max: 80, clearMin: null, clearMax: null, forMs: 0, severity: 'info', message: '' },
  offline: null,
  triggeredMs: nowMs,
  resolvedMs: null,
  resolution: null,
});
