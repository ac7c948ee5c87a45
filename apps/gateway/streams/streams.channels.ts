import { z } from 'zod';
import { closeCodes, sourceIdSchema, sourceParams, type Channel } from '#edge';
import { logStreamQuery, metricStreamQuery } from './wanted.js';

const cursor = z
  .string()
  .optional()
  .meta({ description: 'Behind this message: come back with it as `after`. Only for a reader that asked for cursors.' });
const tags = z.record(z.string(), z.string()).optional().meta({ description: 'Absent when there are none.' });
const timestamp = z.int().meta({ description: 'Of the device, Unix milliseconds.' });
const metric = z.string();

const takes: Channel['takes'] = {
  auth: {
    summary: 'The first frame, within 10 seconds; nothing is sent back when the key is valid',
    schema: z.looseObject({
      type: z.literal('auth'),
      api_key: z
        .string()
        .min(1)
        .optional()
        .meta({ description: 'A page of this server leaves it out: the session of whoever has signed in counts.' }),
    }),
    examples: [{ type: 'auth', api_key: 'hw_…' }],
  },
};

const point = z
  .object({ source_id: sourceIdSchema, class: z.literal('metric'), metric, value: z.number(), timestamp, tags })
  .meta({ id: 'StreamedPoint' });

const telemetry: Channel['sends'][string] = {
  summary: 'Points that were accepted, at most one message every 25 milliseconds unless they are large',
  schema: z.object({ type: z.literal('telemetry'), points: z.array(point).min(1), cursor }),
  examples: [
    {
      type: 'telemetry',
      points: [{ source_id: 'greenhouse', class: 'metric', metric: 'air.temperature', value: 21.5, timestamp: 1769860800000 }],
    },
  ],
};

const event: Channel['sends'][string] = {
  summary: 'An event that was accepted',
  schema: z.object({
    type: z.literal('event'),
    source_id: sourceIdSchema,
    class: z.literal('event'),
    metric,
    value: z.unknown().meta({ description: 'Of the JSON type that was sent.' }),
    timestamp,
    tags,
    cursor,
  }),
  examples: [
    {
      type: 'event',
      source_id: 'greenhouse',
      class: 'event',
      metric: 'door',
      value: 'open',
      timestamp: 1769860800000,
      tags: { side: 'north' },
    },
  ],
};

const always: Channel['sends'] = {
  cursor: {
    summary: 'Moves the cursor of a reader that asked for cursors where nothing else is sent',
    schema: z.object({ type: z.literal('cursor'), cursor: z.string() }),
    examples: [{ type: 'cursor', cursor: 'k3v1Xw.m7.1a2b.0.mk3x9qf5' }],
  },
  gap: {
    summary: 'What was accepted between these times is not in the stream: queries have it',
    schema: z.object({
      type: z.literal('gap'),
      from: z.int().nullable().meta({ description: 'Unix milliseconds; null where nobody knows.' }),
      to: z.int().meta({ description: 'Unix milliseconds.' }),
      cursor,
    }),
    examples: [{ type: 'gap', from: 1769857200000, to: 1769860800000 }],
  },
  gateway_reconnecting: {
    summary: 'The log is away, and the server tries again after so many seconds',
    schema: z.object({ type: z.literal('gateway_reconnecting'), attempt: z.int().min(1), delay_s: z.number().min(0) }),
    examples: [{ type: 'gateway_reconnecting', attempt: 1, delay_s: 1 }],
  },
};

const closes: Channel['closes'] = {
  [closeCodes.goingAway]: 'The server stops: connect again.',
  [closeCodes.unsupportedData]: 'A binary frame.',
  1007: 'Text that is not UTF-8.',
  [closeCodes.policy]: 'A frame in more than 16 fragments.',
  [closeCodes.tooLarge]: 'A frame of more than 64 KiB.',
  [closeCodes.internal]: 'The log cannot be read, or a mistake of the server.',
  [closeCodes.tryLater]: 'The reader is too slow, or has too many streams: come back with the cursor after a while.',
  [closeCodes.unauthorized]: 'The key or session is missing, late, not valid, or over.',
  [closeCodes.paymentRequired]: 'The organization has no payment method on file.',
};

const about =
  'A stream begins with what is accepted from now on, and a device that nobody has is silent. A reader that comes back with a cursor first gets what it missed, ' +
  'once and in order, for an hour and for 100,000 records. The same path answers a request that is not for a WebSocket ' +
  'with the same messages as `text/event-stream`; the OpenAPI document describes that.';

/** What the AsyncAPI document says of the live streams. */
export const streamChannels: readonly Channel[] = [
  {
    id: 'metricStream',
    path: '/v1/sources/{source_id}/metrics/stream',
    title: 'Metrics as they are accepted',
    description: `${about} A reader without cursors that does not keep up gets the newest value of each metric.`,
    params: sourceParams,
    query: metricStreamQuery,
    takes,
    sends: { telemetry, ...always },
    closes,
  },
  {
    id: 'logStream',
    path: '/v1/sources/{source_id}/logs/stream',
    title: 'Events as they are accepted',
    description: about,
    params: sourceParams,
    query: logStreamQuery,
    takes,
    sends: { event, ...always },
    closes,
  },
];
