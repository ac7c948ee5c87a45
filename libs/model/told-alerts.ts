import type { Alert } from './alert.js';
import { severities, type Severity } from './monitor.js';

/** Of the transitions that one delivery tells, so many are kept whole. */
export const maxToldWhole = 20;
/** So many are named. Beyond that they are counted. */
export const maxToldNamed = 20_000;

/** Transitions that one delivery tells, in the order in which they came. */
export interface ToldAlerts {
  /** The first `maxToldWhole`. */
  readonly alerts: readonly Alert[];
  /** How many alerts were triggered, and how many were resolved. */
  readonly triggered: number;
  readonly resolved: number;
  /** The greatest of all. */
  readonly severity: Severity;
  /** The first `maxToldNamed`, 17 characters each: `t` or `r`, and the id in base64. */
  readonly names: string;
}

/** What is told in one delivery. */
export interface Telling {
  /** The same at every attempt. */
  readonly id: string;
  readonly told: ToldAlerts;
  readonly isTest: boolean;
  /** When the delivery was made, Unix milliseconds: the body is the same at every attempt. */
  readonly madeMs: number;
}

export const severityOf = ({ threshold, offline }: Alert): Severity => (threshold ?? offline)!.severity;
export const countOf = ({ triggered, resolved }: ToldAlerts): number => triggered + resolved;

const nameChars = 17;
const idPattern = /^alert_([0-9a-f]{24})$/;

/** All of the first and all of the second. */
export function toldTogether(before: ToldAlerts | null, alerts: readonly Alert[]): ToldAlerts | null {
  if (alerts.length === 0) return before;
  const resolved = alerts.filter(({ resolvedMs }) => resolvedMs !== null).length;
  const worst = Math.max(severities.indexOf(before?.severity ?? 'info'), ...alerts.map((alert) => severities.indexOf(severityOf(alert))));
  const whole = before?.alerts ?? [];
  return {
    alerts: whole.length < maxToldWhole ? [...whole, ...alerts].slice(0, maxToldWhole) : whole,
    triggered: (before?.triggered ?? 0) + alerts.length - resolved,
    resolved: (before?.resolved ?? 0) + resolved,
    severity: severities[worst]!,
    names: ((before?.names ?? '') + alerts.map(nameOf).join('')).slice(0, maxToldNamed * nameChars),
  };
}

/** The first transition alone, and the rest, null when there is none. Only where all are whole. */
export function firstTold({ alerts }: ToldAlerts): readonly [first: ToldAlerts, rest: ToldAlerts | null] {
  return [toldTogether(null, alerts.slice(0, 1))!, toldTogether(null, alerts.slice(1))];
}

/** The ids of the alerts that are named. */
export function namesOf({ names }: ToldAlerts): { readonly triggered: readonly string[]; readonly resolved: readonly string[] } {
  const triggered: string[] = [];
  const resolved: string[] = [];
  for (let at = 0; at < names.length; at += nameChars) {
    const id = `alert_${Buffer.from(names.slice(at + 1, at + nameChars), 'base64url').toString('hex')}`;
    (names[at] === 't' ? triggered : resolved).push(id);
  }
  return { triggered, resolved };
}

/** Empty for an id that is not ours. */
function nameOf({ alertId, resolvedMs }: Alert): string {
  const [, hex] = idPattern.exec(alertId) ?? [];
  return hex ? (resolvedMs === null ? 't' : 'r') + Buffer.from(hex, 'hex').toString('base64url') : '';
}
