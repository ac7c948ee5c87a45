import { z } from 'zod';
import type { Operation } from '#edge';
import { maxPoints } from '#model';

const sourceId = z.string().meta({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$', examples: ['greenhouse'] });

const tagText = z.string().max(256);

const anyPoint = {
  source_id: sourceId.nullish().meta({ description: 'The device of this point; beats the one of the body.' }),
  metric: z
    .string()
    .min(1)
    .max(256)
    .meta({ description: 'At most 256 bytes. `<subsystem>.<metric>` is usual.', examples: ['air.temperature'] }),
  timestamp: z
    .number()
    .nullish()
    .meta({
      description:
        'Unix milliseconds. Below 1e12 it is taken as seconds, from 1e14 as microseconds, from 1e17 as nanoseconds. Missing, null or not above 0: the time at which the server received the body. A point with a timestamp can be sent again, with the same tags, without being stored twice.',
      examples: [1769860800000],
    }),
  tags: z.record(tagText, tagText).nullish().meta({
    description:
      'Labels: at most 16, keys and values at most 256 bytes each. Points of one metric and time that differ in tags are different points, for example the cores of a processor.',
    maxProperties: 16,
  }),
};

const metricPoint = z.looseObject({ ...anyPoint, class: z.literal('metric').nullish(), value: z.number() }).meta({ id: 'MetricPoint' });

const eventPoint = z
  .looseObject({
    ...anyPoint,
    class: z.literal('event'),
    value: z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.unknown()), z.record(z.string(), z.unknown())]).meta({
      description: 'Any JSON; at most 4,096 bytes, a string as its UTF-8, anything else as the JSON that is sent, without its blanks.',
    }),
  })
  .meta({ id: 'EventPoint' });

const ingestBody = z
  .looseObject({
    source_id: sourceId.nullish().meta({ description: 'The device of all points that name none themselves.' }),
    points: z.array(z.union([metricPoint, eventPoint])).max(maxPoints),
  })
  .meta({
    id: 'IngestBody',
    description: 'Unknown fields are ignored. At most 5 MiB, as sent and after inflating.',
    examples: [{ source_id: 'greenhouse', points: [{ metric: 'air.temperature', value: 21.5, timestamp: 1769860800000 }] }],
  });

const receipt = z
  .object({
    success: z.literal(true),
    count: z.int().min(0).meta({ description: 'Points and events in the body.' }),
    source_id: z.string().optional().meta({ description: 'The device, when the body named exactly one.' }),
  })
  .meta({ id: 'Receipt' });

/** The way in. */
export const ingressOperations: readonly Operation[] = [
  {
    id: 'ingest',
    method: 'post',
    path: '/ingest',
    tag: 'Ingest',
    summary: 'Send points and events',
    description:
      'All of the body or nothing of it. 200 means that every point is durable. After any other answer, or none, the same body can be sent again: points that have timestamps are stored once however often they come. `Content-Encoding: gzip` is understood.',
    access: { scope: 'write' },
    body: ingestBody,
    answers: { 200: { description: 'Every point is durable.', schema: receipt } },
    errors: ['invalid_body', 'invalid_points', 'too_many_points', 'too_many_series'],
  },
  {
    id: 'preflightIngest',
    method: 'options',
    path: '/ingest',
    tag: 'Ingest',
    summary: 'May a page of any origin send?',
    access: { key: false },
    answers: {
      204: {
        description: 'Yes.',
        headers: {
          'Access-Control-Allow-Origin': 'Always `*`.',
          'Access-Control-Allow-Methods': 'POST.',
          'Access-Control-Allow-Headers': 'Content-Type, Content-Encoding, x-api-key, Last-Event-ID.',
        },
      },
    },
  },
];
