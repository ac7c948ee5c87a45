import { Controller, Get, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Access, Admission, closeCodes, KeyUses, Traffic, type CloseCode } from '#edge';
import { TelemetryError } from '#model';
import { EventOutlet } from './outlet.js';
import { logStream, metricStream, type StreamKind } from './stream-kind.js';
import { revokedText, Streams } from './streams.js';
import { readWanted } from './wanted.js';

const mediaType = 'text/event-stream';

/** The live streams for clients that ask without a WebSocket, such as `curl -N`. */
@Controller('v1/sources/:source_id')
@Access({ stream: true, may: 'read' })
export class StreamsController {
  constructor(
    private readonly streams: Streams,
    private readonly admission: Admission,
    private readonly traffic: Traffic,
    private readonly uses: KeyUses,
  ) {}

  @Get('metrics/stream')
  metrics(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.#stream(metricStream, request, reply);
  }

  @Get('logs/stream')
  logs(@Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    this.#stream(logStream, request, reply);
  }

  #stream(kind: StreamKind, request: FastifyRequest, reply: FastifyReply): void {
    const asked = readWanted(kind, request);
    const { caller, headers, ip } = request;
    if (!accepts(headers.accept)) throw new TelemetryError('invalid_request', `Ask for ${mediaType}, or for a WebSocket.`);
    this.streams.checkLimits(caller!, asked);
    // Proxies are asked not to hold events back.
    reply.type(mediaType).headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' });
    if (request.method === 'HEAD') {
      void reply.send();
      return;
    }
    const { raw } = reply.hijack();
    raw.writeHead(200, reply.getHeaders() as Record<string, string>);
    raw.flushHeaders();
    // Tell those who wait for the end of the request (drain, metrics, access log) that it has ended. The connection stays open.
    raw.emit('close');
    const reader = this.streams.open(caller!, asked, new EventOutlet(raw));
    const close = (code: CloseCode, reason: string) => () => reader.close(code, reason);
    const endings = [
      () => this.streams.leave(reader),
      this.uses.noteUntil(caller!, ip),
      this.admission.revoked(caller!, close(closeCodes.unauthorized, revokedText(caller!))),
      this.traffic.begin(close(closeCodes.goingAway, 'The server stops: connect again.')),
    ];
    raw
      .on('error', () => undefined)
      .once('close', () => {
        for (const end of endings) end();
      });
  }
}

/** Whoever does not say what it takes, takes anything. */
const accepts = (accept = '*/*'): boolean => /(^|,)\s*(\*\/\*|text\/\*|text\/event-stream)\s*(;|,|$)/i.test(accept);
