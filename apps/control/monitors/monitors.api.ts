import { z } from 'zod';
import { limitParameter, type Operation } from '#edge';
import { maxBacktestPoints, maxBacktestTransitions } from '#model';
import { backtestBody, monitorJson, monitorPatch, newMonitor } from './definition.js';

const params = z.object({ id: z.string().meta({ description: 'The `id` of the monitor in the list.' }) });

export const monitorsQuery = z.object({
  source_id: z.string().meta({ description: 'Only monitors of this source; `*` is a source here too.' }).optional(),
  after: z.string().meta({ description: 'Only monitors behind this id: the last one of the page before.' }).optional(),
  limit: limitParameter('At most so many.', { default: 1000 }),
});

export const monitorList = z.object({
  monitors: z.array(monitorJson),
  truncated: z.boolean().meta({ description: 'True when more follow. Ask again with the last id as `after`.' }),
});

export const backtestJson = z
  .object({
    transitions: z
      .array(
        z.object({
          event: z.enum(['alert.triggered', 'alert.resolved']),
          timestamp_ms: z.int().meta({ description: 'Time of the point, Unix milliseconds.' }),
          value: z.number(),
        }),
      )
      .meta({ description: `In the order of time, the first ${maxBacktestTransitions}.` }),
    points: z.int().meta({ description: 'How many points were evaluated.' }),
    evaluated_until_ms: z.int().meta({ description: 'All points before this time were evaluated, Unix milliseconds.' }),
    truncated: z.boolean().meta({ description: 'True when the window goes on behind that: ask for less at once.' }),
  })
  .meta({ id: 'Backtest' });

export const definedMonitor = monitorJson.extend({ success: z.literal(true) }).meta({ id: 'DefinedMonitor' });

const reading = { method: 'get', tag: 'Monitors', access: { may: 'read' } } as const;
const changing = { tag: 'Monitors', access: { may: 'monitors' } } as const;
const slow = 'Answers 503 when that takes longer than 5 seconds: then ask again.';

export const monitorOperations: readonly Operation[] = [
  {
    ...changing,
    id: 'defineMonitor',
    method: 'post',
    path: '/api/monitors',
    summary: 'Watch a metric, or whether a device is heard',
    description: `The monitor of the same source and metric gets this definition, or there is a new one; it closes an open alert unless nothing changes. Points that are received from now on count. ${slow}`,
    body: newMonitor,
    answers: { 201: { description: 'The monitor.', schema: definedMonitor } },
    errors: ['invalid_body', 'foreign_source', 'unknown_source', 'too_many_monitors'],
  },
  {
    ...reading,
    id: 'backtestMonitor',
    method: 'post',
    path: '/api/monitors/backtest',
    summary: 'What a monitor would have done',
    description: `Evaluates the threshold over the points of one device that are stored, as if they came in the order of time, from nothing known at the start of the window; \`offline\` does not count. At most ${maxBacktestPoints.toLocaleString('en')} points, ${maxBacktestTransitions.toLocaleString('en')} transitions and 8 seconds. Defines nothing.`,
    body: backtestBody,
    answers: { 200: { description: 'The transitions.', schema: backtestJson } },
    errors: ['invalid_body', 'invalid_window', 'unknown_source', 'store_unavailable', 'store_corrupt'],
  },
  {
    ...reading,
    id: 'listMonitors',
    path: '/api/monitors',
    summary: 'List monitors',
    query: monitorsQuery,
    answers: { 200: { description: 'The monitors, by id.', schema: monitorList } },
    errors: ['invalid_limit'],
  },
  {
    ...reading,
    id: 'getMonitor',
    path: '/api/monitors/{id}',
    summary: 'Get a monitor',
    params,
    answers: { 200: { description: 'The monitor.', schema: monitorJson } },
    errors: ['unknown_monitor'],
  },
  {
    ...changing,
    id: 'changeMonitor',
    method: 'patch',
    path: '/api/monitors/{id}',
    summary: 'Change a monitor',
    description: `Fields that are sent take the place of those that are there, objects field by field, and null removes (RFC 7396). The source and the metric stay. Closes an open alert unless nothing changes. ${slow}`,
    params,
    body: monitorPatch,
    answers: { 200: { description: 'The monitor.', schema: monitorJson } },
    errors: ['invalid_body', 'unknown_monitor', 'too_many_monitors'],
  },
  {
    ...changing,
    id: 'deleteMonitor',
    method: 'delete',
    path: '/api/monitors/{id}',
    summary: 'Delete a monitor',
    description: `Its open alerts are closed. ${slow}`,
    params,
    answers: { 204: { description: 'The monitor is deleted.' } },
    errors: ['unknown_monitor'],
  },
];
