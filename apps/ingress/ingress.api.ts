import { z } from 'zod';
import { sentPoint, sourceIdSchema, type Operation } from '#edge';
import { maxPoints } from '#model';

const ingestBody = z
  .looseObject({
    source_id: sourceIdSchema.nullish().meta({ description: 'The device of all points that name none themselves.' }),
    points: z.array(sentPoint).max(maxPoints),
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
    errors: ['invalid_body', 'invalid_points', 'too_many_points', 'foreign_source', 'too_many_series'],
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
