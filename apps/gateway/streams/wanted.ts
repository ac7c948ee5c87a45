import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { organizationParameter, readQuery, sourceParams } from '#edge';
import { parseMetricsList } from '#model';
import { everything, onlyMetrics, type StreamKind } from './stream-kind.js';
import type { Wanted } from './streams.js';

const common = {
  [organizationParameter]: z
    .string()
    .max(200)
    .meta({ description: 'For whoever has signed in and has several organizations: the one whose device it is.' })
    .optional(),
  after: z
    .string()
    .max(200)
    .meta({
      description: 'Goes on behind this cursor: that of the last frame or event that was read. With it every frame carries a cursor.',
    })
    .optional(),
  cursor: z
    .enum(['0', '1'])
    .meta({ description: '`1` has every frame of a WebSocket carry a cursor. Events of `text/event-stream` always do, as their id.' })
    .optional(),
};

export const metricStreamQuery = z.object({
  metrics: z
    .array(z.string())
    .meta({
      description:
        'Only these metrics: names with commas between, encoded or not. Blanks around a name are dropped; a comma inside a name is written `\\,`. May come several times.',
      examples: [['air.temperature', 'air.humidity']],
    })
    .transform(parseMetricsList)
    .optional(),
  ...common,
});

export const logStreamQuery = z.object(common);

/** What a request for a stream asks for, and whether it wants cursors. */
export interface Asked extends Wanted {
  readonly hasCursors: boolean;
}

/** @throws TelemetryError that says which parameter is wrong. */
export function readWanted(kind: StreamKind, { params, raw, headers }: Pick<FastifyRequest, 'params' | 'raw' | 'headers'>): Asked {
  const { source_id: sourceId } = sourceParams.parse(params);
  const { url = '' } = raw;
  const { metrics, ...query } = kind.isMerged
    ? readQuery(metricStreamQuery, url)
    : { ...readQuery(logStreamQuery, url), metrics: undefined };
  // A browser repeats the URL of its first request, and says in the header how far it came.
  const last = headers['last-event-id'];
  const after = (Array.isArray(last) ? last.at(-1) : last) || query.after || undefined;
  return {
    kind,
    sourceId,
    filter: metrics ? onlyMetrics(metrics) : everything,
    after,
    hasCursors: query.cursor === '1' || after !== undefined,
  };
}
