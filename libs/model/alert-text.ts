import type { Alert, Resolution } from './alert.js';
import type { Severity } from './monitor.js';
import { countOf, severityOf, type ToldAlerts } from './told-alerts.js';

/** What people are told: a sentence, and what else there is to say. Nothing in it is markup yet. */
export interface AlertText {
  readonly sign: string;
  readonly title: string;
  readonly lines: readonly string[];
  readonly severity: Severity;
}

/** Alerts that a summary shows, one line each. */
const maxShown = 10;
const maxNameChars = 100;
const maxMessageChars = 400;

const signs: Readonly<Record<Severity, string>> = { critical: '🔴', warning: '🟠', info: '🔵' };
const resolvedSign = '✅';
const words: Readonly<Record<Severity, string>> = { critical: 'Critical', warning: 'Warning', info: 'Info' };

/** The text for transitions that are told together: of one alert, or a summary. */
export function textOf(told: ToldAlerts, isTest = false): AlertText {
  const text = countOf(told) === 1 ? alertText(told.alerts[0]!) : summaryText(told);
  return isTest ? { ...text, title: `Test: ${text.title}`, lines: ['This is a test. Nothing has happened.', ...text.lines] } : text;
}

function alertText(alert: Alert): AlertText {
  const { resolvedMs, triggeredMs, threshold, offline } = alert;
  const { message } = (threshold ?? offline)!;
  const severity = severityOf(alert);
  const said = message === '' ? [] : [clipped(visible(message), maxMessageChars)];
  const times = resolvedMs === null ? [`Since ${timeText(triggeredMs)}`] : [`From ${timeText(triggeredMs)} to ${timeText(resolvedMs)}`];
  const isOpen = resolvedMs === null;
  return { sign: isOpen ? signs[severity] : resolvedSign, title: titleOf(alert), lines: [...said, ...times], severity };
}

function summaryText(told: ToldAlerts): AlertText {
  const { triggered, resolved, alerts, severity } = told;
  const shown = alerts.slice(0, maxShown);
  const lines = shown.map((alert) => `${alert.resolvedMs === null ? signs[severityOf(alert)] : resolvedSign} ${titleOf(alert)}`);
  const left = countOf(told) - shown.length;
  const counts = `${triggered.toLocaleString('en')} triggered, ${resolved.toLocaleString('en')} resolved`;
  const rest = left > 0 ? [`… and ${left.toLocaleString('en')} more`] : [];
  return { sign: triggered > 0 ? signs[severity] : resolvedSign, title: `Alerts: ${counts}`, lines: [...lines, ...rest], severity };
}

function titleOf(alert: Alert): string {
  const { threshold, offline, resolution, value } = alert;
  const source = clipped(visible(alert.sourceId), maxNameChars);
  const thing = alert.metric === null || offline ? source : `${clipped(visible(alert.metric), maxNameChars)} of ${source}`;
  if (resolution) return `Resolved: ${thing} ${resolvedBecause(resolution, value)}`;
  const { min, max } = threshold ?? { min: null, max: null };
  const isAbove = max !== null && (value ?? 0) > max;
  const bound = isAbove ? `above ${max}` : `below ${min}`;
  return `${words[severityOf(alert)]}: ${thing} ${threshold ? `is ${value}, ${bound}` : `is offline (silent for ${spanText(offline!.timeoutMs)})`}`;
}

function resolvedBecause(resolution: Resolution, value: number | null): string {
  if (resolution === 'inside') return `is ${value}`;
  if (resolution === 'heard') return 'is back';
  return `is not watched any more: the monitor was ${resolution}`;
}

const timeText = (ms: number): string => `${new Date(ms).toISOString().slice(0, 19).replace('T', ' ')} UTC`;

/** A length of time as it is: `90 minutes`. @param ms whole seconds. */
export function spanText(ms: number): string {
  const units = [['day', 86_400_000] as const, ['hour', 3_600_000] as const, ['minute', 60_000] as const, ['second', 1000] as const];
  const [unit, size] = units.find(([, each]) => ms % each === 0) ?? units.at(-1)!;
  return `${ms / size} ${unit}${ms === size ? '' : 's'}`;
}

/**
 * Without what is not to be seen: control characters, ends of lines, and characters that turn the direction of writing, by which a text
 * would show as another one.
 */
export const visible = (text: string): string => text.toWellFormed().replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ');

/** At most so many code points; three dots say that there was more. */
function clipped(text: string, max: number): string {
  const points = Array.from(text);
  return points.length <= max ? text : `${points.slice(0, max - 1).join('')}…`;
}
