import { z } from 'zod';
import { TelemetryError, type Monitor, type MonitorDefinition } from '#model';
import { typed, type Form } from '../form.js';

const fieldNames = [
  'name',
  'source_id',
  'metric',
  'max',
  'min',
  'clear_max',
  'clear_min',
  'for_seconds',
  'severity',
  'message',
  'timeout_seconds',
  'offline_severity',
  'offline_message',
  // The source whose points a monitor of every source is tried on.
  'try_on',
  // `definedMs` of the definition that it was filled in from; empty where there was none.
  'defined',
] as const;
type FieldName = (typeof fieldNames)[number];

/** A form as it was filled in: each field as it was typed. */
export type MonitorForm = Readonly<Record<FieldName, string>>;

/** The windows that a monitor may be tried on. */
export const trialSizes = ['24h', '7d'] as const;
export type TrialSize = (typeof trialSizes)[number];

/** A form that nobody has filled in. */
const emptyForm: MonitorForm = {
  ...(Object.fromEntries(fieldNames.map((name) => [name, ''])) as Record<FieldName, string>),
  severity: 'warning',
  offline_severity: 'warning',
};

/** The form as the parameters of an address: a trial changes nothing. */
export const formQuery = z.object({
  ...(Object.fromEntries(fieldNames.map((name) => [name, z.string().max(1024).default(emptyForm[name])])) as Record<
    FieldName,
    z.ZodDefault<z.ZodString>
  >),
  try: z.enum(trialSizes).optional(),
});

/** What was sent with a form. */
export const formOf = (form: Form): MonitorForm =>
  Object.fromEntries(fieldNames.map((name) => [name, typed(form, name)])) as Record<FieldName, string>;

/** The form of a monitor as it is. */
export const formWith = (monitor: Monitor): MonitorForm => ({ ...filledWith(monitor), defined: String(monitor.definedMs) });

/** The form as it would be filled in for a definition. */
export function filledWith({ name, sourceId, metric, threshold: t, offline: o }: MonitorDefinition): MonitorForm {
  return {
    ...emptyForm,
    name,
    source_id: sourceId,
    metric: metric ?? '',
    ...(t && {
      max: numberText(t.max),
      min: numberText(t.min),
      clear_max: numberText(t.clearMax),
      clear_min: numberText(t.clearMin),
      for_seconds: t.forMs === 0 ? '' : String(t.forMs / 1000),
      severity: t.severity,
      message: t.message,
    }),
    ...(o && { timeout_seconds: String(o.timeoutMs / 1000), offline_severity: o.severity, offline_message: o.message }),
  };
}

/** The body that an API client would send. A part of which nothing is filled in is not there. @throws TelemetryError `invalid_body`. */
export function bodyOf(form: MonitorForm) {
  const [max, min, forS] = [numberIn(form, 'max'), numberIn(form, 'min'), numberIn(form, 'for_seconds')];
  const clear = { max: numberIn(form, 'clear_max'), min: numberIn(form, 'clear_min') };
  const isClear = clear.max !== null || clear.min !== null;
  const hasThreshold = isClear || form.message !== '' || [max, min, forS].some((number) => number !== null);
  const timeoutS = numberIn(form, 'timeout_seconds');
  return {
    name: form.name,
    source_id: form.source_id.trim(),
    metric: form.metric || null,
    threshold: hasThreshold
      ? { max, min, clear: isClear ? clear : null, for_seconds: forS, severity: form.severity, message: form.message }
      : null,
    offline: timeoutS === null ? null : { timeout_seconds: timeoutS, severity: form.offline_severity, message: form.offline_message },
  };
}

/** The names of the fields for numbers, as the page has them. */
export const labels = {
  max: 'Fires above (max)',
  min: 'Fires below (min)',
  clear_max: 'Resolves at or below (clear)',
  clear_min: 'Resolves at or above (clear)',
  for_seconds: 'For at least (seconds)',
  timeout_seconds: 'Fires after (seconds)',
} as const;

function numberIn(form: MonitorForm, name: keyof typeof labels): number | null {
  const text = form[name].trim();
  if (text === '') return null;
  const number = Number(text);
  if (Number.isFinite(number)) return number;
  const detail = `Fill in a number, or nothing: ${labels[name]}.`;
  throw new TelemetryError('invalid_body', detail, { flaws: [{ pointer: `/${name}`, code: 'invalid_body', detail }] });
}

const numberText = (number: number | null): string => (number === null ? '' : String(number));
