import { Catch, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { problemContentType, problemHeaders, problemOf, telemetryErrorOf } from './problem.js';

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
