import { z } from 'zod';
import { sourceParams, type Operation } from '#edge';
import { fleetQuery, logsQuery, namesQuery, seriesQuery, sourcesQuery } from './parameters.js';

const unixMs = z.int().meta({ description: 'Unix milliseconds.', examples: [1769860800000] });
const times = z.array(z.int()).meta({ description: 'Unix milliseconds, ascending. The other arrays are parallel to it.' });
const bucketTimes = times.meta({
  description: 'Starts of the buckets, Unix milliseconds, ascending. The other arrays are parallel to it.',
});
const numbers = z.array(z.number());
const truncated = z.boolean().meta({
  description: 'True exactly when rows were left out, because there were more than 10,000. Ask again from the last timestamp for more.',
});

const device = z
  .object({
    source_id: z.string(),
    online: z.boolean().meta({ description: 'Whether the device has a connection.' }),
    last_seen_ms: unixMs.nullable().meta({
      description:
        'When the server last received a point or an event of the device, Unix milliseconds; null when it never did. May lag by five seconds.',
    }),
  })
  .meta({ id: 'Device' });

const tagsOfPoints = z
  .array(z.record(z.string(), z.string()))
  .optional()
  .meta({ description: 'Only with `tags=1`: the tags of each point.' });

const rawSeries = z.object({ timestamp_ms: times, value: numbers, tags: tagsOfPoints }).meta({
  id: 'RawSeries',
  description:
    'Points in the order of time. Points that differ in tags only stand one after the other with the same time, by the bytes of their tags.',
});

const buckets = { min: numbers, max: numbers, avg: numbers.meta({ description: 'Sum divided by count.' }), count: z.array(z.int()) };

const aggregatedSeries = z.object({ timestamp_ms: bucketTimes, ...buckets }).meta({
  id: 'AggregatedSeries',
  description: 'Buckets aligned to UTC, over all points of the metric whatever their tags; one without points is absent.',
});

const interval = z.enum(['1m', '10m', '1h', '1d']);
const auto = z.boolean().meta({ description: 'True when the interval was chosen automatically and is not `raw`.' });

const series = z
  .union([
    z.object({ interval: z.literal('raw'), auto_downsampled: z.literal(false), series: z.record(z.string(), rawSeries), truncated }),
    z.object({ interval, auto_downsampled: auto, series: z.record(z.string(), aggregatedSeries), truncated }),
  ])
  .meta({ id: 'Series', description: 'Series by metric name; a metric without points in the window is absent.' });

const fleetMetrics = z
  .object({
    metric: z.string(),
    interval,
    sources_online: z.int().meta({ description: 'Devices of the organization that are online, with this metric or without.' }),
    sources_w_metric: z.int().meta({ description: 'Length of `sources`.' }),
    sources: z
      .array(z.object({ source_id: z.string(), online: z.boolean(), timestamp_ms: bucketTimes, ...buckets }))
      .meta({ description: 'Every device that reported the metric in the window, by source_id.' }),
    truncated,
  })
  .meta({ id: 'FleetMetrics' });

const logEntry = z
  .object({
    timestamp_ms: unixMs,
    metric: z.string().meta({ description: 'Name of the event.' }),
    value: z.string().meta({ description: 'A string as it was sent; anything else as the JSON that was sent, without its blanks.' }),
    tags: z.record(z.string(), z.string()),
  })
  .meta({ id: 'LogEntry' });

const read = { method: 'get', access: {} } as const;
const stored = ['store_unavailable', 'store_corrupt'] as const;
const ofSource = ['invalid_source_id'] as const;
const windowed = ['invalid_window'] as const;

const redirect = {
  method: 'get',
  tag: 'Devices',
  summary: 'The old name of /v1/sources',
  description: 'Any method, any path below it: a redirect to the same below `/v1/sources`, with the query kept. It needs no key.',
  deprecated: true,
  access: { key: false, body: false },
  answers: { 308: { description: 'Go there.', headers: { Location: 'A path of this server that begins with /v1/sources.' } } },
} as const;

const deletion = {
  method: 'delete',
  access: { scope: 'admin' },
  answers: { 204: { description: 'The deletion is durable. Answers follow a moment later, as they do for points.' } },
} as const;

/** The read API, and how what it reads is deleted. */
export const queryOperations: readonly Operation[] = [
  {
    ...read,
    id: 'listSources',
    path: '/v1/sources',
    tag: 'Devices',
    summary: 'List devices',
    description:
      'Every device that has a history or a connection, by source_id. A device that appears or goes while the answer is made may be missing.',
    query: sourcesQuery,
    answers: {
      200: {
        description: 'The devices.',
        schema: z.object({
          devices: z.array(device),
          truncated: z
            .boolean()
            .optional()
            .meta({ description: 'Only with `limit`: true when more devices follow. Ask again with the last source_id as `after`.' }),
        }),
      },
    },
    errors: ['invalid_parameter', 'invalid_limit', 'invalid_source_id'],
  },
  {
    ...read,
    id: 'getSource',
    path: '/v1/sources/{source_id}',
    tag: 'Devices',
    summary: 'Get a device',
    params: sourceParams,
    answers: { 200: { description: 'The device.', schema: device } },
    errors: [...ofSource, 'unknown_source'],
  },
  {
    ...deletion,
    id: 'deleteSource',
    path: '/v1/sources/{source_id}',
    tag: 'Devices',
    summary: 'Delete a device',
    description:
      'Deletes all points and events of the device that were accepted before, for good. What it sends later is of a new device. Its connections stay.',
    params: sourceParams,
    errors: [...ofSource, 'unknown_source', ...stored],
  },
  {
    ...read,
    id: 'listMetrics',
    path: '/v1/sources/{source_id}/metrics',
    tag: 'Metrics',
    summary: 'List metric names',
    params: sourceParams,
    query: namesQuery,
    answers: {
      200: {
        description:
          'Names of all metrics that the device ever reported, ordered by their bytes. With `limit`: ask again with the last name as `after` until fewer come.',
        schema: z.array(z.string()),
      },
    },
    errors: [...ofSource, 'invalid_limit', 'invalid_metric', ...stored],
  },
  {
    ...deletion,
    id: 'deleteMetric',
    path: '/v1/sources/{source_id}/metrics/{metric}',
    tag: 'Metrics',
    summary: 'Delete a metric of a device',
    description:
      'Deletes all points and events of this name that were accepted before, for good. One that the device never sent is no error.',
    params: sourceParams.extend({ metric: z.string().meta({ description: 'Name of the metric or event, percent-encoded.' }) }),
    errors: [...ofSource, 'invalid_metric', 'unknown_source', ...stored],
  },
  {
    ...read,
    id: 'getLatest',
    path: '/v1/sources/{source_id}/metrics/latest',
    tag: 'Metrics',
    summary: 'Latest values',
    params: sourceParams,
    answers: {
      200: {
        description:
          'The newest value of each metric, of those with a point between an hour ago and ten minutes ahead. Of points that differ in tags only it is the last by the bytes of their tags.',
        schema: z.object({ metrics: z.record(z.string(), z.number()) }),
      },
    },
    errors: [...ofSource, ...stored],
  },
  {
    ...read,
    id: 'querySeries',
    path: '/v1/sources/{source_id}/metrics/query',
    tag: 'Metrics',
    summary: 'Query series',
    description:
      'Points or buckets of a window, at most 10,000 rows over all series together: the first ones, ordered by time, metric and tags. A bucket belongs to the window when its start does; the start of the window is first moved down to the start of a bucket.',
    params: sourceParams,
    query: seriesQuery,
    answers: { 200: { description: 'The series.', schema: series } },
    errors: [...ofSource, ...windowed, 'invalid_interval', 'invalid_metric', 'invalid_parameter', ...stored],
  },
  {
    ...read,
    id: 'queryLogs',
    path: '/v1/sources/{source_id}/logs',
    tag: 'Logs',
    summary: 'Query events',
    params: sourceParams,
    query: logsQuery,
    answers: {
      200: {
        description: 'Log entries, oldest first; those of one millisecond in the order in which they arrived.',
        schema: z.array(logEntry),
      },
    },
    errors: [...ofSource, ...windowed, 'invalid_limit', 'invalid_metric', ...stored],
  },
  {
    ...read,
    id: 'getFleetHealth',
    path: '/v1/fleet/health',
    tag: 'Fleet',
    summary: 'Count devices',
    answers: {
      200: { description: 'How many devices there are.', schema: z.object({ sources_total: z.int(), sources_online: z.int() }) },
    },
  },
  {
    ...read,
    id: 'queryFleet',
    path: '/v1/fleet/metrics',
    tag: 'Fleet',
    summary: 'One metric over all devices',
    description:
      'Buckets of a window, at most 10,000 rows over all devices together: the first ones, ordered by time and then source_id. Ask again from the last timestamp, with the same `interval`, for more.',
    query: fleetQuery,
    answers: { 200: { description: 'The metric, by device.', schema: fleetMetrics } },
    errors: [...windowed, 'invalid_interval', 'invalid_metric', ...stored],
  },
  { ...redirect, id: 'redirectDevices', path: '/v1/devices' },
  {
    ...redirect,
    id: 'redirectDevice',
    path: '/v1/devices/{path}',
    params: z.object({ path: z.string().meta({ description: 'One or more segments.' }) }),
  },
];
