import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { TelemetryError } from '#model';
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
        // OPTIONS is answered here, as on every path: browsers follow no redirect of a preflight.
        method: server.supportedMethods.filter((method) => method !== 'OPTIONS'),
        url,
        config: { access: { key: false, body: false } },
        onRequest: redirect,
        handler: redirect,
      });
    }
  }
}

/** Live streams came after the old prefix, and have no alias. */
const streams = /^\/[^/]+\/[^/]+\/[^/?#]+\/(?:metrics|logs)\/stream(?:[?#]|$)/;

function redirect(request: FastifyRequest, reply: FastifyReply): void {
  if (streams.test(request.url)) throw new TelemetryError('unknown_route', 'Use /v1/sources/… for live streams.');
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
