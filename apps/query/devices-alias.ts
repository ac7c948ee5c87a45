import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

const prefix = '/v1/devices';

/** The deprecated path prefix: any request below it is sent on to the sources, before anybody looks at its key or body. */
@Injectable()
export class DevicesAlias implements OnModuleInit {
  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const server = this.host.httpAdapter.getInstance<FastifyInstance>();
    for (const url of [prefix, `${prefix}/*`]) {
      server.route({
        method: server.supportedMethods,
        url,
        config: { access: { key: false, body: false } },
        onRequest: redirect,
        handler: redirect,
      });
    }
  }
}

function redirect(request: FastifyRequest, reply: FastifyReply): void {
  void reply.redirect(sourcesUrl(request.originalUrl), 308);
}

/**
 * The same path and query below `/v1/sources`, never on another host.
 *
 * @param url of a request that came in below `/v1/devices`, as it was sent: perhaps with a host before it, or with its letters percent-encoded.
 */
export function sourcesUrl(url: string): string {
  return url.replace(/^(?:https?:\/\/[^/?#]*)?\/[^/?#]*\/[^/?#]*/i, '/v1/sources');
}
