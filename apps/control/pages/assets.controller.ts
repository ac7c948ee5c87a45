import { Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { TelemetryError } from '#model';
import { assetNamed } from './assets.js';
import { PageParts } from './pages.js';

@PageParts('assets')
export class AssetsController {
  /** A page of another version of this server may ask for a file of its own version: it gets this one, and does not keep it. */
  @Get(':version/:name')
  asset(@Param('version') version: string, @Param('name') name: string, @Res({ passthrough: true }) reply: FastifyReply): Buffer {
    const asset = assetNamed(name);
    if (!asset) throw new TelemetryError('unknown_route', 'Check the path: there is no such file.');
    void reply.headers({
      'content-type': asset.type,
      'cache-control': version === asset.version ? 'public, max-age=31536000, immutable' : 'no-store',
    });
    return asset.bytes;
  }
}
