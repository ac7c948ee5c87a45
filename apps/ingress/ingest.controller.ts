import { Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Accept, RequireScope, type Receipt } from '#edge';

@Controller('ingest')
export class IngestController {
  constructor(private readonly accept: Accept) {}

  // One @Req: each parameter of any other kind costs a small request another twentieth.
  @Post()
  @HttpCode(200)
  @RequireScope('write')
  ingest(@Req() { caller, body, id, headers }: FastifyRequest<{ Body: Buffer | undefined }>): Promise<Receipt> {
    return this.accept.body(caller!, body, id, headers['traceparent'] as string | undefined);
  }
}
