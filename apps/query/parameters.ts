import { z } from 'zod';
import { limitParameter } from '#edge';
import { checkMetric, checkSourceId, parseInterval, parseMetricsList, parseRollupInterval, rollupIntervals } from '#model';

const windowParameters = {
  last: z
    .string()
    .meta({
      description: 'A window that ends now: a whole number and `m`, `h` or `d`. Beats `start` and `end`. Without any of them: `1h`.',
      pattern: '^[0-9]+[mhd]$',
      examples: ['15m', '6h', '7d'],
    })
    .optional(),
  start: z
    .string()
    .meta({
      description: 'Start of the window, which belongs to it: ISO 8601, in UTC unless it has an offset. Goes together with `end`.',
      examples: ['2026-01-31T12:00:00Z', '2026-01-31'],
    })
    .optional(),
  end: z
    .string()
    .meta({ description: 'End of the window, which does not belong to it: ISO 8601, like `start`.', examples: ['2026-02-01'] })
    .optional(),
};

const metric = z
  .string()
  .meta({ description: 'Name of the metric, 1 to 256 bytes.', examples: ['air.temperature'] })
  .transform(checkMetric);

const pageLimit = limitParameter('At most so many. Without it: all.');

export const sourcesQuery = z.object({
  status: z.enum(['online', 'offline']).meta({ description: 'Only sources in this state.' }).optional(),
  after: z
    .string()
    .meta({ description: 'Only sources behind this source_id: the last one of the page before.' })
    .transform(checkSourceId)
    .optional(),
  limit: pageLimit,
});

export const namesQuery = z.object({
  after: z.string().meta({ description: 'Only names behind this one: the last one of the page before.' }).transform(checkMetric).optional(),
  limit: pageLimit,
});

export const seriesQuery = z.object({
  metrics: z
    .array(z.string())
    .meta({
      description:
        'Names of metrics with commas between, encoded or not. Blanks around a name are dropped; a comma inside a name is written `\\,`. May come several times. Without it: all metrics of the source.',
      examples: [['air.temperature', 'air.humidity']],
    })
    .transform(parseMetricsList)
    .optional(),
  ...windowParameters,
  interval: z
    .string()
    .meta({
      description:
        'Size of the buckets, or `raw` for the points themselves. Without it: `raw` for a window under 10 minutes, else the one that gives nearest to 1,000 buckets.',
      enum: ['raw', ...rollupIntervals],
    })
    .transform(parseInterval)
    .optional(),
  tags: z
    .enum(['0', '1'])
    .meta({ description: 'With `1` raw series have the tags of each point too. Buckets are over all points, whatever their tags.' })
    .transform((text) => text === '1')
    .optional(),
});

export const logsQuery = z.object({
  ...windowParameters,
  tail: limitParameter('The last so many entries of all time, oldest first. The window and `limit` do not matter then.', { name: 'tail' }),
  name: z
    .string()
    .meta({ description: 'Only events of this name.', examples: ['door.opened'] })
    .transform(checkMetric)
    .optional(),
  limit: limitParameter('The first so many entries of the window.', { default: 1000 }),
});

export const fleetQuery = z.object({
  metric,
  ...windowParameters,
  interval: z
    .string()
    .meta({
      description:
        'Size of the buckets. Without it: the one that gives nearest to 1,000 buckets. Send that of the first page for all pages of a window.',
      enum: [...rollupIntervals],
    })
    .transform(parseRollupInterval)
    .optional(),
});
