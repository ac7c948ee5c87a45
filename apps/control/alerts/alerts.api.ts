import { z } from 'zod';
import { limitParameter, type Operation } from '#edge';
import { alertConditions, isoTimeMs, maxResolvedKnown, maxSilenceMs, resolutions, severities } from '#model';

const unixMs = z.int().meta({ description: 'Unix milliseconds.' });
const params = z.object({ id: z.string().meta({ description: 'The `alert_id` of the alert.' }) });

export const alertsQuery = z.object({
  status: z.enum(['open', 'resolved']).meta({ description: 'Only alerts in this state. Without it: all.' }).optional(),
  source_id: z.string().meta({ description: 'Only alerts of this source.' }).optional(),
  since: z
    .string()
    .meta({
      description: 'Only alerts that fired or resolved then or later: ISO 8601, in UTC unless it has an offset.',
      examples: ['2026-01-31T12:00:00Z'],
    })
    .transform((text, context) => {
      const ms = isoTimeMs(text);
      if (ms === undefined) context.addIssue({ code: 'custom', message: 'use an ISO 8601 time such as 2026-01-31T12:00:00Z' });
      return ms ?? 0;
    })
    .optional(),
  after: z.string().meta({ description: 'Only alerts behind a page: its `next`.' }).optional(),
  limit: limitParameter('At most so many.', { default: 1000 }),
});

export const alertJson = z
  .object({
    alert_id: z.string(),
    status: z.enum(['open', 'resolved']),
    monitor_id: z.string(),
    source_id: z.string(),
    metric: z.string().nullable(),
    condition: z.enum(alertConditions),
    value: z.number().nullable().meta({ description: 'The value that made the alert fire or resolve; null where none did.' }),
    threshold: z.record(z.string(), z.unknown()).nullable().meta({ description: 'The bounds when the alert fired.' }),
    offline: z.object({ timeout_seconds: z.number() }).optional(),
    severity: z.enum(severities),
    message: z.string(),
    triggered_at_ms: unixMs,
    resolved_at_ms: unixMs.nullable(),
    resolved_by: z.enum(resolutions).optional(),
    acknowledged: z.object({ at_ms: unixMs, by: z.string() }).nullable(),
    silenced_until_ms: unixMs
      .nullable()
      .meta({ description: 'Until then nobody is told of this alert, nor of the next ones of its condition.' }),
  })
  .meta({ id: 'Alert' });

export const alertList = z.object({
  alerts: z.array(alertJson),
  next: z.string().nullable().meta({ description: 'Send it as `after` for the next page; null when this is the last.' }),
});

export const silence = z
  .object({
    until_ms: z
      .int()
      .min(0)
      .meta({
        description: `Until when, Unix milliseconds: at most ${maxSilenceMs / 86_400_000} days ahead. A time that is over ends the silence.`,
      }),
  })
  .meta({ id: 'Silence' });

const errors = ['unknown_alert', 'too_many_alert_notes'] as const;
const said = { tag: 'Monitors', method: 'post', params, access: { may: 'monitors' } } as const;

export const alertOperations: readonly Operation[] = [
  {
    tag: 'Monitors',
    access: { may: 'read' },
    id: 'listAlerts',
    method: 'get',
    path: '/api/alerts',
    summary: 'List alerts',
    description: `Newest change first: all that are open, and of each device the last ${maxResolvedKnown} that have resolved. All alerts of a device are among its events: \`/v1/sources/{source_id}/logs?name=alert.resolved\`.`,
    query: alertsQuery,
    answers: { 200: { description: 'The alerts.', schema: alertList } },
    errors: ['invalid_parameter', 'invalid_limit'],
  },
  {
    ...said,
    id: 'acknowledgeAlert',
    path: '/api/alerts/{id}/acknowledge',
    summary: 'Say that you know of an alert',
    description: 'Whoever was first stays the one who has.',
    answers: { 200: { description: 'The alert.', schema: alertJson } },
    errors,
  },
  {
    ...said,
    id: 'silenceAlert',
    path: '/api/alerts/{id}/silence',
    summary: 'Have nobody told of an alert for a while',
    description: 'It counts for the next alerts of the same monitor, device and condition too. They are listed and logged as ever.',
    body: silence,
    answers: { 200: { description: 'The alert.', schema: alertJson } },
    errors: ['invalid_body', ...errors],
  },
];
