import { AbstractWsAdapter } from '@nestjs/websockets';
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { ServerResponse, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { WebSocketServer } from 'ws';
import { TelemetryError } from '#model';
import type { Traffic } from '../traffic.js';
import type { LiveSockets } from './live-sockets.js';

/** What `@WebSocketGateway` says of an endpoint. */
export interface Endpoint {
  /** As a route of Fastify, for example `/v1/sources/:source_id/logs/stream`. */
  readonly path: string;
  /** Bytes of one frame; a larger one closes the socket with 1009. */
  readonly maxPayload: number;
  /** Throws what refuses the request, before the upgrade. */
  readonly check?: (request: FastifyRequest) => unknown;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route answers only requests for a WebSocket. */
    upgrade?: true;
  }
}

/** Pieces of one frame: more are an attack. */
const maxFragments = 16;
/** The chunks of a large frame that wait for its end are on average at least so large. */
const leastChunkBytes = 512;
const constraint = 'upgrade';

/** A token of HTTP (RFC 9110, section 5.6.2). */
const token = /^[\w!#$%&'*+.^\x60|~-]+$/;

/** Whether a header names subprotocols as RFC 6455 asks: tokens with commas between them, none of them twice. */
function areProtocols(header: string): boolean {
  const names = header.split(',').map((name) => name.trim());
  return names.every((name) => token.test(name)) && new Set(names).size === names.length;
}

/** Well-formed requests for a WebSocket; others are answered as requests without an upgrade. */
export const isWebSocket = ({ method, headers }: IncomingMessage): boolean =>
  method === 'GET' &&
  headers.upgrade?.toLowerCase() === 'websocket' &&
  headers['content-length'] === undefined &&
  headers['transfer-encoding'] === undefined;

/** Tells routes of WebSockets from routes of plain requests that have the same path. */
export const upgradeConstraint: NonNullable<NonNullable<FastifyServerOptions['routerOptions']>['constraints']> = {
  [constraint]: {
    name: constraint,
    storage: () => {
      const handlers = new Map<string, never>();
      return { get: (key: string) => handlers.get(key) ?? null, set: (key: string, handler: never) => void handlers.set(key, handler) };
    },
    validate: () => true,
    deriveConstraint: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() as string,
  },
};

/** The bytes that arrived together with a request for a WebSocket, behind its headers: the beginning of the first frame. */
const heads = new WeakMap<IncomingMessage, Buffer>();

/**
 * Serves WebSockets by the routes of the HTTP server: a request for one goes through the same hooks as every request, so that it is named, counted,
 * logged and refused like one, with a problem. The gateway of the endpoint gets the socket and the request. Before that its server emits `asked`
 * with the request: whatever a listener throws is the answer.
 */
export class UpgradeAdapter extends AbstractWsAdapter {
  constructor(
    private readonly instance: FastifyInstance,
    private readonly traffic: Traffic,
    private readonly sockets: LiveSockets,
  ) {
    super(instance.server);
    instance.server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
      heads.set(request, head);
      socket.on('error', () => socket.destroy());
      instance.routing(request, responseTo(request, socket));
    });
  }

  override create(_port: number, options: object): WebSocketServer {
    const { path, maxPayload, check } = options as Endpoint;
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
      maxFragments,
      maxBufferedChunks: maxPayload / leastChunkBytes,
    });
    this.instance.route({
      method: 'GET',
      url: path,
      exposeHeadRoute: false,
      constraints: { [constraint]: 'websocket' },
      config: { access: { key: false, body: false }, upgrade: true },
      handler: (request, reply) => {
        check?.(request);
        this.#upgrade(server, request, reply);
      },
    });
    return server;
  }

  override bindMessageHandlers(): void {
    // Each gateway reads the frames of its sockets by itself.
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  #upgrade(server: WebSocketServer, request: FastifyRequest, reply: FastifyReply): void {
    const { raw } = request;
    if (this.traffic.closing) throw new TelemetryError('not_ready', 'Connect again in a moment: this server is stopping.');
    if (raw.headers['sec-websocket-version'] !== '13' || !/^[+/0-9a-z]{22}==$/i.test(raw.headers['sec-websocket-key'] ?? ''))
      throw new TelemetryError('invalid_request', 'Send Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key of 16 bytes.');
    if (!areProtocols(raw.headers['sec-websocket-protocol'] ?? 'none'))
      throw new TelemetryError('invalid_request', 'Send Sec-WebSocket-Protocol as names with commas between them, none of them twice.');
    this.sockets.check(request);
    server.emit('asked', request);
    const { socket } = raw;
    reply.hijack();
    reply.raw.detachSocket(socket);
    // A detached response emits no `close` of its own, and drain, metrics and access log wait for it.
    const end = (status: number): void => {
      reply.raw.statusCode = status;
      reply.raw.emit('close');
    };
    const endEarly = (): void => end(499);
    socket.once('close', endEarly);
    server.handleUpgrade(raw, socket, heads.get(raw)!, (webSocket) => {
      socket.off('close', endEarly);
      end(101);
      server.emit('connection', webSocket, request);
    });
  }
}

/** The response to a request for an upgrade, which Node does not make. Any answer but 101 ends the connection. */
export function responseTo(request: IncomingMessage, socket: Socket): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  return response.once('finish', () => socket.destroySoon());
}
