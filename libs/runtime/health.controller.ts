import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Access, problemContentType, problemOf, Readiness } from '#edge';
import { TelemetryError } from '#model';

/** For probes. Live as long as the process answers; ready when requests should be sent to it. */
@Controller('health')
@Access({ key: false, body: false })
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  @Get(['', 'live'])
  live(): { status: string } {
    return { status: 'ok' };
  }

  @Get('ready')
  ready(@Res() reply: FastifyReply): void {
    const reasons = this.readiness.reasons();
    if (reasons.length === 0) {
      void reply.send({ status: 'ready', reasons, warnings: this.readiness.warnings() });
      return;
    }
    const problem = { ...problemOf(new TelemetryError('not_ready', reasons.join(' ')), reply.request.id), reasons };
    void reply
      .status(503)
      .header('retry-after', '1')
      .type(problemContentType)
      .send(Buffer.from(JSON.stringify(problem)));
  }
}
