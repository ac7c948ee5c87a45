import { Body, Controller, HttpCode, Post, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { Accept, CallerParam, RequireScope, type Receipt } from '#edge';
import type { Caller } from '#model';

@Controller('ingest')
export class IngestController {
  constructor(private readonly accept: Accept) {}

  @Post()
  @HttpCode(200)
  @RequireScope('write')
  ingest(@CallerParam() caller: Caller, @Body() body: Buffer | undefined, @Req() { id, headers }: FastifyRequest): Promise<Receipt> {
    return this.accept.body(caller, body, id, headers['traceparent'] as string | undefined);
  }
}
