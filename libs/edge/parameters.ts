import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { checkSourceId, maxRows, parseLimit, visibleSource } from '#model';
import { readQuery } from './read-query.js';

/** The query parameters of a route, checked and typed by a schema: `@QueryParameters(schema) query: z.output<typeof schema>`. */
export const QueryParameters = (schema: z.ZodObject): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    readQuery(schema, context.switchToHttp().getRequest<FastifyRequest>().raw.url ?? ''),
  )();

/** The schema of a query parameter that says how many of something are wanted at most. */
export const limitParameter = (
  description: string,
  { name = 'limit', ...more }: { readonly name?: string; readonly default?: number } = {},
) =>
  z
    .string()
    .meta({ description, type: 'integer', minimum: 1, maximum: maxRows, ...more })
    .transform((text) => parseLimit(text, name))
    .optional();

/** The source that a path names; see `visibleSource`. */
export const SourceId = createParamDecorator((_: unknown, context: ExecutionContext) => {
  const { params, caller } = context.switchToHttp().getRequest<FastifyRequest>();
  return visibleSource(caller, sourceParams.parse(params).source_id);
});

export const sourceParams = z.object({
  source_id: z
    .string()
    .meta({
      description: 'The source. 1 to 256 of `A-Z a-z 0-9 . _ : @ + -`, beginning with a letter or digit.',
      pattern: '^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,255}$',
      examples: ['greenhouse'],
    })
    .transform(checkSourceId),
});
