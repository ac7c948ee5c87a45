import {
  applyDecorators,
  Catch,
  Controller,
  Injectable,
  UseFilters,
  UseGuards,
  UseInterceptors,
  type ArgumentsHost,
  type CallHandler,
  type CanActivate,
  type ExceptionFilter,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import { Access, problemHeaders, Readiness, statusOf, telemetryErrorOf } from '#edge';
import { failurePage } from './failure-page.js';
import { isHtml, type Html } from './html.js';
import { Redirect, Shown } from './shown.js';
import { visitOf } from './visit.js';

/** Pages need nothing from anywhere else, and stand in nobody's frame. */
const policy = (formsTo = ''): string =>
  [
    "default-src 'none'",
    "style-src 'self'",
    "img-src 'self'",
    "script-src 'self'",
    "connect-src 'self'",
    `form-action 'self' ${formsTo}`.trim(),
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

const headers = {
  'content-security-policy': policy(),
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  // Addresses may hold the secret of a link. Without any referrer browsers would send no Origin with forms either.
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
};

/** Pages are about people and what they have: who is not known yet would be told that they are nobody. */
@Injectable()
class ReadyGuard implements CanActivate {
  constructor(private readonly readiness: Readiness) {}

  canActivate(): true {
    this.readiness.check('The server has just started: load this page again in a moment.');
    return true;
  }
}

class PageAnswers implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    void reply.headers(headers);
    return next.handle().pipe(map((answer) => sent(reply, answer)));
  }
}

function sent(reply: FastifyReply, answer: unknown): unknown {
  // The filter answers these: what is returned is sent with the status that the route has.
  if (answer instanceof Redirect || answer instanceof Shown) throw answer;
  return isHtml(answer) ? asPage(reply, answer) : answer;
}

/** The bytes of a page; the answer gets the headers that belong to it. */
export function asPage(reply: FastifyReply, page: Html): Buffer {
  void reply.headers({ ...headers, 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  return Buffer.from(page.toString());
}

/** Answers what has a status of its own: errors, as pages, and the ways to other pages. */
@Catch()
class PageErrors implements ExceptionFilter {
  catch(error: unknown, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<FastifyReply>();
    if (reply.sent) return;
    if (error instanceof Redirect) {
      void reply.headers({ ...headers, 'cache-control': 'no-store' }).redirect(error.to, 303);
      return;
    }
    if (error instanceof Shown) {
      const { page, status, formsTo } = error;
      const bytes = asPage(reply, page);
      void reply.status(status).header('content-security-policy', policy(formsTo)).send(bytes);
      return;
    }
    const failure = telemetryErrorOf(error);
    reply.request.failure = failure;
    void reply
      .status(statusOf[failure.kind])
      .headers(problemHeaders(failure))
      .send(asPage(reply, failurePage(failure, reply.request.id, visitOf(reply.request))));
  }
}

/** A controller for files of pages: also answers before the server is ready. */
export const PageParts = (path: string): ClassDecorator =>
  applyDecorators(Controller(path), Access({ key: false, cors: false, page: true }), UseInterceptors(PageAnswers), UseFilters(PageErrors));

/** A controller whose handlers answer pages for people: what `html` makes, a `Redirect`, something `Shown`, or bytes with their own headers. */
export const Pages = (path = ''): ClassDecorator => applyDecorators(PageParts(path), UseGuards(ReadyGuard));
