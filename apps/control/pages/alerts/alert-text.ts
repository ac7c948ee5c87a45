import { spanText, type Alert, type Threshold } from '#model';
import { valueText } from '../chart/scale.js';
import type { Span } from '../chart/chart.js';
import { html, type Html } from '../html.js';
import { secondText } from '../times.js';

export const severityTag = (alert: Alert): Html => {
  const { severity } = (alert.threshold ?? alert.offline)!;
  return html`<span class="tag ${severity}">${severity}</span>`;
};

/** What has been found, in words. */
export function findingOf({ metric, threshold, offline, value, resolvedMs }: Alert): string {
  if (offline) return `nothing heard for ${spanText(offline.timeoutMs)}`;
  const at = resolvedMs === null && value !== null ? `${valueText(value)}, ` : '';
  return `${metric ?? ''}: ${at}${boundsText(threshold!)}`;
}

/** When a threshold fires, in words. */
export function boundsText({ min, max, forMs }: Threshold): string {
  const bounds = [...(max === null ? [] : [`above ${valueText(max)}`]), ...(min === null ? [] : [`below ${valueText(min)}`])].join(' or ');
  return forMs > 0 ? `${bounds} for ${spanText(forMs)}` : bounds;
}

/** Why an alert has resolved. */
export const resolutionText: Readonly<Record<NonNullable<Alert['resolution']>, string>> = {
  inside: 'back inside',
  heard: 'heard again',
  changed: 'the monitor was changed',
  deleted: 'the monitor was deleted',
};

/** An alert on a chart of its metric. */
export function spanOf(alert: Alert): Span {
  const { severity, message } = (alert.threshold ?? alert.offline)!;
  const until = alert.resolvedMs === null ? 'open' : `until ${secondText(alert.resolvedMs)} UTC`;
  const text = `${severity}: ${message || findingOf(alert)}, since ${secondText(alert.triggeredMs)} UTC, ${until}`;
  return { startMs: alert.triggeredMs, endMs: alert.resolvedMs, severity, text };
}
