import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { TelemetryError, type Flaw } from '#model';

/** The JSON body of a request, checked and typed by a schema: `@JsonBody(schema) body: z.output<typeof schema>`. */
export const JsonBody = (schema: z.ZodType): ParameterDecorator =>
  createParamDecorator((_: unknown, context: ExecutionContext) =>
    parseJson(schema, context.switchToHttp().getRequest<FastifyRequest>().body as Buffer | undefined),
  )();

/** @throws TelemetryError `invalid_json`, or `invalid_body` with its flaws. */
export function parseJson<T>(schema: z.ZodType<T>, body: Buffer | undefined): T {
  const result = schema.safeParse(json(body));
  if (result.success) return result.data;
  const flaws: Flaw[] = result.error.issues.map((issue) => ({
    pointer: issue.path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
    code: 'invalid_body',
    detail: `${issue.message}.`,
  }));
  throw new TelemetryError('invalid_body', `The body has the wrong shape: ${flaws[0]!.pointer || 'it'}: ${flaws[0]!.detail}`, { flaws });
}

function json(body: Buffer | undefined): unknown {
  if (!body?.length) throw new TelemetryError('invalid_json', 'Send a JSON body: there was none.');
  try {
    return JSON.parse(utf8.decode(body));
  } catch (cause) {
    throw new TelemetryError('invalid_json', 'Send one JSON value encoded as UTF-8.', { cause });
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true });
