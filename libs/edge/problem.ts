import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { errorCases, TelemetryError, type ErrorCode, type ErrorKind, type Flaw } from '#model';

/** What every error looks like over HTTP (RFC 9457), as `application/problem+json`. */
export interface Problem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: ErrorCode;
  /** The same sentence as `detail`, for older clients. */
  readonly error: string;
  readonly request_id: string;
  readonly errors?: readonly Flaw[];
}

export const problemContentType = 'application/problem+json';

/** The HTTP status of each kind of error. */
export const statusOf: Readonly<Record<ErrorKind, number>> = {
  invalid: 400,
  unauthenticated: 401,
  payment_required: 402,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media: 415,
  upgrade_required: 426,
  over_rate: 429,
  headers_too_large: 431,
  internal: 500,
  unreachable: 502,
  unavailable: 503,
};

/** Codes for the statuses of errors that Nest and Fastify make. */
const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'invalid_request',
  404: 'unknown_route',
  405: 'method_not_allowed',
  413: 'body_too_large',
  414: 'uri_too_long',
  415: 'unsupported_content_type',
  431: 'headers_too_large',
};

/** Any error as one of ours. What is not known becomes `internal`, with the error as its cause. */
export function telemetryErrorOf(error: unknown): TelemetryError {
  if (error instanceof TelemetryError) return error;
  const status = error instanceof HttpException ? error.getStatus() : (error as { statusCode?: unknown } | null)?.statusCode;
  const code = codeOfStatus[Number(status)] ?? 'internal';
  return new TelemetryError(code, errorCases[code].remedy, { cause: error });
}

/** The body of the answer to any error. */
export function problemOf(error: unknown, requestId: string): Problem {
  const { code, kind, message, flaws } = telemetryErrorOf(error);
  return {
    type: `/errors/${code}`,
    title: errorCases[code].title,
    status: statusOf[kind],
    detail: message,
    code,
    error: message,
    request_id: requestId,
    ...(flaws.length > 0 && { errors: flaws }),
  };
}

/** The headers that tell a client how to go on after an error. */
export function problemHeaders(error: TelemetryError): Readonly<Record<string, string>> {
  if (error.kind === 'unauthenticated') return { 'www-authenticate': error.code === 'invalid_key' ? 'ApiKey' : 'Session' };
  if (error.code === 'unsupported_content_encoding') return { 'accept-encoding': 'gzip' };
  if (error.kind === 'over_rate' || error.kind === 'unavailable') return { 'retry-after': String(error.retryAfterS ?? 1) };
  return {};
}

/** Answers every error as a problem. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    sendProblem(host.switchToHttp().getResponse<FastifyReply>(), error);
  }
}

export function sendProblem(reply: FastifyReply, error: unknown): void {
  if (reply.sent) return;
  const ours = telemetryErrorOf(error);
  const problem = problemOf(ours, reply.request.id);
  // Fastify asks for the connection's end after a refused body; Node can read the rest of it and keep the connection.
  if (reply.raw.shouldKeepAlive) reply.removeHeader('connection');
  reply.request.failure = ours;
  void reply
    .status(problem.status)
    .headers(problemHeaders(ours))
    .type(problemContentType)
    .send(Buffer.from(JSON.stringify(problem)));
}
