import { Injectable } from '@nestjs/common';
import { WebSocketGateway, type OnGatewayConnection } from '@nestjs/websockets';
import type { FastifyRequest } from 'fastify';
import type { WebSocket } from 'ws';
import { Admission, LiveSockets } from '#edge';
import { logStream, metricStream, type StreamKind } from './stream-kind.js';
import { StreamTalk } from './stream-talk.js';
import { Streams } from './streams.js';
import { readWanted } from './wanted.js';

const endpoint = (name: string, kind: StreamKind): object => ({
  path: `/v1/sources/:source_id/${name}/stream`,
  maxPayload: 64 * 1024,
  check: (request: FastifyRequest) => readWanted(kind, request),
});

@Injectable()
abstract class StreamGateway implements OnGatewayConnection {
  constructor(
    private readonly sockets: LiveSockets,
    private readonly admission: Admission,
    private readonly streams: Streams,
  ) {}

  protected abstract readonly kind: StreamKind;

  handleConnection(webSocket: WebSocket, request: FastifyRequest): void {
    const asked = readWanted(this.kind, request);
    this.sockets.open(webSocket, request, (socket) => new StreamTalk(socket, request, asked, this.sockets, this.admission, this.streams));
  }
}

@WebSocketGateway(endpoint('metrics', metricStream))
export class MetricStreamGateway extends StreamGateway {
  protected readonly kind = metricStream;
}

@WebSocketGateway(endpoint('logs', logStream))
export class LogStreamGateway extends StreamGateway {
  protected readonly kind = logStream;
}
