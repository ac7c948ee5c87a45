import { z } from 'zod';

export const sourceIdSchema = z.string().meta({ pattern: '^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$', examples: ['greenhouse'] });

const tagText = z.string().max(256);

const anyPoint = {
  source_id: sourceIdSchema.nullish().meta({ description: 'The device of this point; beats the one of the body.' }),
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

/** A point as clients send it, for the documents of the API. */
export const sentPoint = z.union([metricPoint, eventPoint]);
