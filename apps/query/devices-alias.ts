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
    const config = { access: { key: false, body: false } } as const;
    // OPTIONS is answered here, as on every path: browsers follow no redirect of a preflight.
    const redirected = server.supportedMethods.filter((method) => method !== 'OPTIONS');
    for (const url of [prefix, `${prefix}/*`]) server.route({ method: redirected, url, config, onRequest: redirect, handler: redirect });
    // Live streams came after the old prefix: to every method there is no such route.
    for (const kind of ['metrics', 'logs']) {
      const url = `${prefix}/:source_id/${kind}/stream`;
      server.route({ method: server.supportedMethods, url, config, onRequest: refuse, handler: refuse });
    }
  }
}

function refuse(): never {
  throw new TelemetryError('unknown_route', 'Use /v1/sources/… for live streams.');
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
