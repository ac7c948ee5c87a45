import type { Answered } from '#edge';
import type { Logger } from './logger.js';

/** Frequent routes are logged at level debug only: a line costs a third of the CPU of a small ingest. */
const frequent = /^\/(ingest|health.*)$/;

/** One line for each request, without anything that the client sent. */
export class RequestLog {
  #warnedMs = -Infinity;

  constructor(private readonly logger: Logger) {}

  add(answered: Answered): void {
    const level = this.#level(answered);
    if (!this.logger.isLevelEnabled(level)) return;
    const { requestId, method, route, status, durationMs, complete, orgId, failure } = answered;
    const fields = {
      request_id: requestId,
      method,
      route,
      status,
      ms: Math.round(durationMs * 100) / 100,
      ...(orgId && { org_id: orgId }),
      ...(failure && { code: failure.code }),
      ...(!complete && { client_left: true }),
      ...(failure?.kind === 'internal' && { err: failure.cause ?? failure }),
    };
    this.logger[level](fields, `${method} ${route || '(no route)'} ${status}`);
  }

  /** An outage fails every request, so at most one warning a second is written. */
  #level({ failure, route }: Answered): 'error' | 'warn' | 'info' | 'debug' {
    if (failure?.kind === 'internal') return 'error';
    if (failure?.kind === 'unavailable' && performance.now() - this.#warnedMs > 1000) {
      this.#warnedMs = performance.now();
      return 'warn';
    }
    return frequent.test(route) ? 'debug' : 'info';
  }
}
