import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { TelemetryError } from '#model';

/** Nothing that people type into our forms is longer. */
const maxFormBytes = 64 * 1024;

/** What a form has sent. */
export type Form = URLSearchParams;

export const FormParam = createParamDecorator((_: unknown, context: ExecutionContext): Form => {
  const body = context.switchToHttp().getRequest<FastifyRequest>().body as Buffer | undefined;
  if (body && body.length > maxFormBytes) throw new TelemetryError('body_too_large', 'Send less than 64 KiB with a form.');
  return new URLSearchParams(body?.toString('utf8'));
});

/** Nobody types more into one line. */
const maxTypedChars = 1024;

/** What was typed into a field; empty where there is none. */
export const typed = (form: Form, name: string): string => (form.get(name) ?? '').slice(0, maxTypedChars);
