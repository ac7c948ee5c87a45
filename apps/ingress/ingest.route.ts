import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import { Accept, bodyRoute } from '#edge';

/** `POST /ingest`. */
@Injectable()
export class IngestRoute implements OnModuleInit {
  constructor(
    private readonly host: HttpAdapterHost,
    private readonly accept: Accept,
  ) {}

  onModuleInit(): void {
    bodyRoute(this.host.httpAdapter.getInstance<FastifyInstance>(), '/ingest', { scope: 'write' }, ({ caller, id, traceparent }, body) =>
      this.accept.body(caller, body, id, traceparent),
    );
  }
}
