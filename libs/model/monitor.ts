import type { Flaw } from './errors.js';
import { fitsUtf8, isMetric, isOrgId, isSourceId } from './names.js';

export const severities = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof severities)[number];

/** As the source of a monitor: every source of the organization. */
export const everySource = '*';

/** At most so many for each source, and as many again for `*`. */
export const maxMonitorsPerSource = 100;
/** Those of them that have `offline`: one source that falls silent fires them all. */
export const maxOfflineMonitorsPerSource = 10;
/** Monitors of one organization at most. */
export const maxMonitors = 10_000;
export const maxMonitorNameChars = 100;
/** UTF-8: an alert with the longest names and message fits into one event. */
export const maxAlertMessageBytes = 512;
export const maxForMs = 7 * 86_400_000;
export const minOfflineMs = 10_000;
export const maxOfflineMs = 30 * 86_400_000;

interface Condition {
  readonly severity: Severity;
  /** For people; may be empty. */
  readonly message: string;
}

/** Fires above `max` or below `min`, and resolves at a value that is back inside. At least one of `min` and `max` is there. */
export interface Threshold extends Condition {
  readonly min: number | null;
  readonly max: number | null;
  /** Where a value is back inside: from `clearMin` to `clearMax`. Null is the same as `min` or `max`. */
  readonly clearMin: number | null;
  readonly clearMax: number | null;
  /** How long every value has to be outside before the alert fires, by the times of the points. */
  readonly forMs: number;
}

/** Fires when a source has neither had a connection nor sent anything for this long. */
export interface Offline extends Condition {
  readonly timeoutMs: number;
}

/** What is watched. At least one of `threshold` and `offline` is there. */
export interface MonitorDefinition {
  /** For people; may be empty. */
  readonly name: string;
  /** A source id, or `everySource`. */
  readonly sourceId: string;
  /** Null in a monitor without a threshold that is about no metric. */
  readonly metric: string | null;
  readonly threshold: Threshold | null;
  readonly offline: Offline | null;
}

/** A definition that holds. An organization has one monitor for each source and metric. */
export interface Monitor extends MonitorDefinition {
  readonly orgId: string;
  readonly monitorId: string;
  /** Unix milliseconds. */
  readonly createdMs: number;
  /** Since when this definition holds, Unix milliseconds: each definition of a monitor has its own. What was received before never counts. */
  readonly definedMs: number;
}

/** Whether two definitions watch the same in the same way. */
export const isSameDefinition = (a: MonitorDefinition, b: MonitorDefinition): boolean => textOf(a) === textOf(b);

const textOf = ({ name, sourceId, metric, threshold: t, offline: o }: MonitorDefinition): string =>
  JSON.stringify([
    [name, sourceId, metric],
    t && [t.min, t.max, t.clearMin, t.clearMax, t.forMs, t.severity, t.message],
    o && [o.timeoutMs, o.severity, o.message],
  ]);

/** What is wrong with a definition, each with a pointer into the body that an API client sends. */
export function flawsOfDefinition({ name, sourceId, metric, threshold, offline }: MonitorDefinition): readonly Flaw[] {
  return [
    ...flawIf(
      !isText(name) || name.length > maxMonitorNameChars,
      '/name',
      `Use at most ${maxMonitorNameChars} characters, none of them a control character.`,
    ),
    ...flawIf(sourceId !== everySource && !isSourceId(sourceId), '/source_id', 'Use the id of a source, or "*" for every source.'),
    ...flawIf(metric !== null && !isMetric(metric), '/metric', 'Use a metric name of 1 to 256 bytes of UTF-8 without NUL.'),
    ...flawIf(metric === null && threshold !== null, '/metric', 'Name the metric that the threshold is about.'),
    ...flawIf(!threshold && !offline, '/threshold', 'Send a threshold, or offline, or both.'),
    ...(threshold ? flawsOfThreshold(threshold) : []),
    ...(offline ? flawsOfOffline(offline) : []),
  ];
}

function flawsOfThreshold({ min, max, clearMin, clearMax, forMs, message }: Threshold): readonly Flaw[] {
  const bounds = [min, max, clearMin, clearMax].filter((bound) => bound !== null);
  if (!bounds.every(Number.isFinite)) return [flaw('/threshold', 'Use finite numbers.')];
  if (min === null && max === null) return [flaw('/threshold', 'Set max, or min, or both.')];
  const [low, high] = [clearMin ?? min ?? -Infinity, clearMax ?? max ?? Infinity];
  const isInside = low <= high && low >= (min ?? -Infinity) && high <= (max ?? Infinity);
  const hasItsBound = (clearMin === null || min !== null) && (clearMax === null || max !== null);
  const isTurned = min !== null && max !== null && min >= max;
  return [
    ...flawIf(isTurned, '/threshold/min', 'Let min be less than max.'),
    ...flawIf(
      !isTurned && !(isInside && hasItsBound),
      '/threshold/clear',
      'Let clear be at most max and at least min, each where it is set.',
    ),
    ...flawIf(!isWhole(forMs, 0, maxForMs), '/threshold/for_seconds', `Use 0 to ${maxForMs / 1000} seconds.`),
    ...flawIf(!isMessage(message), '/threshold/message', messageRule),
  ];
}

function flawsOfOffline({ timeoutMs, message }: Offline): readonly Flaw[] {
  const [min, max] = [minOfflineMs / 1000, maxOfflineMs / 1000];
  return [
    ...flawIf(!isWhole(timeoutMs, minOfflineMs, maxOfflineMs), '/offline/timeout_seconds', `Use ${min} to ${max} seconds.`),
    ...flawIf(!isMessage(message), '/offline/message', messageRule),
  ];
}

const messageRule = `Use at most ${maxAlertMessageBytes} bytes of UTF-8 without control characters.`;
const flaw = (pointer: string, detail: string): Flaw => ({ pointer, code: 'invalid_body', detail });
const flawIf = (isWrong: boolean, pointer: string, detail: string): readonly Flaw[] => (isWrong ? [flaw(pointer, detail)] : []);
const isWhole = (value: number, min: number, max: number): boolean => Number.isInteger(value) && value >= min && value <= max;
const isText = (text: string): boolean => text.isWellFormed() && /^\P{Cc}*$/u.test(text);
const isMessage = (text: string): boolean => isText(text) && fitsUtf8(text, maxAlertMessageBytes);

export const isMonitorId = (text: string): boolean => /^[A-Za-z0-9_-]{1,64}$/.test(text);

/** What is wrong with the record of a monitor, in words for the operator; undefined if nothing is. */
export function flawOfMonitor(monitor: Monitor): string | undefined {
  if (!isOrgId(monitor.orgId)) return 'the organization id is not one';
  if (!isMonitorId(monitor.monitorId)) return 'the monitor id is not one';
  const [first] = flawsOfDefinition(monitor);
  return first && `${first.pointer}: ${first.detail}`;
}
