import { z } from 'zod';
import {
  everySource,
  flawsOfDefinition,
  maxAlertMessageBytes,
  maxForMs,
  maxMonitorNameChars,
  maxOfflineMs,
  minOfflineMs,
  severities,
  thresholdJson,
  type Flaw,
  type Monitor,
  type MonitorDefinition,
  type Offline,
  type Threshold,
} from '#model';

const severity = z.enum(severities).meta({ description: 'How much an alert matters. Without it: `warning`.' }).nullish();
const message = z
  .string()
  .meta({ description: `For people, at most ${maxAlertMessageBytes} bytes.`, examples: ['Bearing runs hot'] })
  .nullish();

const threshold = z
  .object({
    min: z.number().meta({ description: 'Values below it are outside.' }).nullish(),
    max: z.number().meta({ description: 'Values above it are outside.' }).nullish(),
    clear: z
      .union([z.number(), z.object({ min: z.number().nullish(), max: z.number().nullish() })])
      .meta({
        description:
          'Where a value is back inside, when that is to be further inside than `min` and `max`. A number where there is only one of the two; `{"min", "max"}` for both.',
      })
      .nullish(),
    for_seconds: z
      .number()
      .meta({ description: `How long all values have to be outside, by the times of the points: 0 to ${maxForMs / 1000}. Without it: 0.` })
      .nullish(),
    severity,
    message,
  })
  .meta({ id: 'Threshold', description: 'Fires above `max` and below `min`. At least one of them is needed.' });

const offline = z
  .object({
    timeout_seconds: z
      .number()
      .meta({ description: `${minOfflineMs / 1000} to ${maxOfflineMs / 1000}. Without it: 300.` })
      .nullish(),
    severity,
    message,
  })
  .meta({ id: 'Offline', description: 'Fires when the device has had no connection and has sent nothing for so long.' });

const fields = {
  name: z
    .string()
    .meta({ description: `For people, at most ${maxMonitorNameChars} characters.` })
    .nullish(),
  source_id: z.string().meta({ description: 'The device; `*` is every device of the organization.', examples: ['press-7'] }),
  metric: z
    .string()
    .meta({
      description: 'The metric that the threshold is about. May be left out without a threshold.',
      examples: ['bearing.temperature'],
    })
    .nullish(),
  threshold: threshold.nullish(),
  offline: offline.nullish(),
};

/** The body that defines a monitor, as a definition. */
export const newMonitor = z.object(fields).meta({ id: 'NewMonitor' }).transform(checked);

const times = {
  last: z
    .string()
    .meta({ description: 'A window that ends now, such as `24h`. Without any of the three: `1h`.', pattern: '^[0-9]+[mhd]$' }),
  start: z.string().meta({ description: 'Start of the window, ISO 8601. Goes together with `end`.' }),
  end: z.string().meta({ description: 'End of the window, which does not belong to it, ISO 8601.' }),
};

const tryOn = z
  .string()
  .meta({
    description: 'The device whose points are evaluated. Without it: that of `source_id`; so it is needed where that is `*`.',
    examples: ['press-7'],
  })
  .nullish();

/** A definition with a threshold, about the source that it is tried on, and a window. */
export const backtestBody = z
  .object({ ...fields, try_on: tryOn, last: times.last.optional(), start: times.start.optional(), end: times.end.optional() })
  .meta({ id: 'NewBacktest' })
  .transform(({ last, start, end, try_on: on, ...body }, context) => {
    const definition = checked(body, context);
    const add = (field: string, detail: string): void => context.addIssue({ code: 'custom', path: [field], message: detail });
    const sourceId = on ?? definition.sourceId;
    if (sourceId === everySource) add('try_on', 'Name one source');
    if (!definition.threshold && definition.offline) add('threshold', 'Send a threshold: silence has no backtest');
    return { definition: { ...definition, sourceId }, window: { last, start, end } };
  });

/** What is to be changed of a monitor: fields that are named take the place of what is there, as RFC 7396 says, and null removes. */
export const monitorPatch = z.object({ ...fields, source_id: fields.source_id.optional() }).meta({ id: 'MonitorPatch' });

/** A monitor as clients read it. */
export const monitorJson = z
  .object({
    ...fields,
    id: z.string().meta({ examples: ['mon_5f2a9c01b7d34e68a0c1f2e3'] }),
    created_ms: z.int().meta({ description: 'Unix milliseconds.' }),
    defined_ms: z
      .int()
      .meta({ description: 'Since when this definition holds, Unix milliseconds. What was received before does not count.' }),
  })
  .meta({ id: 'Monitor' });

export function toListed({ monitorId: id, createdMs, definedMs, ...definition }: Monitor): z.output<typeof monitorJson> {
  return { id, ...toBody(definition), created_ms: createdMs, defined_ms: definedMs };
}

/** The body that would make the definition. */
export function toBody({ name, sourceId, metric, threshold: t, offline: o }: MonitorDefinition): z.input<typeof newMonitor> {
  return {
    name,
    source_id: sourceId,
    metric,
    threshold: t && { ...thresholdJson(t), severity: t.severity, message: t.message },
    offline: o && { timeout_seconds: o.timeoutMs / 1000, severity: o.severity, message: o.message },
  };
}

type Body = z.output<z.ZodObject<typeof fields>>;

function checked(body: Body, context: z.RefinementCtx): MonitorDefinition {
  const definition: MonitorDefinition = {
    name: body.name ?? '',
    sourceId: body.source_id,
    metric: body.metric ?? null,
    threshold: body.threshold ? thresholdOf(body.threshold) : null,
    offline: body.offline ? offlineOf(body.offline) : null,
  };
  const { min, max, clear } = body.threshold ?? {};
  const isUnclear = typeof clear === 'number' && typeof min === 'number' && typeof max === 'number';
  const flaws = flawsOfDefinition(definition);
  for (const { pointer, detail } of isUnclear ? [unclear, ...flaws] : flaws)
    context.addIssue({ code: 'custom', path: pointer.split('/').slice(1), message: detail.replace(/\.$/, '') });
  return definition;
}

const unclear: Omit<Flaw, 'code'> = { pointer: '/threshold/clear', detail: 'Send clear as {"min", "max"} where there are both bounds.' };

function thresholdOf({ min = null, max = null, clear, for_seconds: forS, ...about }: z.output<typeof threshold>): Threshold {
  const isOfMax = max !== null;
  const band = typeof clear === 'number' ? (isOfMax ? { max: clear } : { min: clear }) : clear;
  return { min, max, clearMin: band?.min ?? null, clearMax: band?.max ?? null, forMs: msOf(forS ?? 0), ...aboutOf(about) };
}

const offlineOf = ({ timeout_seconds: timeoutS, ...about }: z.output<typeof offline>): Offline => ({
  timeoutMs: msOf(timeoutS ?? 300),
  ...aboutOf(about),
});

/** Whole milliseconds, for a number such as 64.1 is not exact. */
const msOf = (seconds: number): number => Math.round(seconds * 1000);

const aboutOf = (about: Pick<z.output<typeof offline>, 'severity' | 'message'>): Pick<Offline, 'severity' | 'message'> => ({
  severity: about.severity ?? 'warning',
  message: about.message ?? '',
});
