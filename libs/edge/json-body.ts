import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { parseJson, TelemetryError, type Flaw } from '#model';

/** The JSON body of a request, checked and typed by a schema: `@JsonBody(schema) body: z.output<typeof schema>`. */
export const JsonBody = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    readJson(schema, context.switchToHttp().getRequest<FastifyRequest>().body as Buffer | undefined),
  )();

/** @throws TelemetryError `invalid_json`, `json_too_deep`, or `invalid_body` with its flaws. */
export function readJson<T>(schema: z.ZodType<T>, body: Buffer | undefined): T {
  if (!body?.length) throw new TelemetryError('invalid_json', 'Send a JSON body: there was none.');
  return checkJson(schema, parseJson(body));
}

/** @throws TelemetryError `invalid_body` with its flaws. */
export function checkJson<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const flaws = result.error.issues.map(flawOf);
  const { pointer, detail } = flaws[0]!;
  throw new TelemetryError('invalid_body', pointer ? `Mend ${pointer}: ${detail}` : detail, { flaws });
}

const flawOf = ({ path, message }: z.core.$ZodIssue): Flaw => ({
  pointer: path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
  code: 'invalid_body',
  detail: `${message}.`,
});
