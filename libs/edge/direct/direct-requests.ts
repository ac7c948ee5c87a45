import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Admission } from '../admission.js';
import type { Observer } from '../answered.js';
import type { InFlight } from '../in-flight.js';
import type { Rates } from '../rates.js';
import type { Traffic } from '../traffic.js';
import { DirectConnection, type DirectRequest, type DirectServer } from './direct-connection.js';
import type { DirectRoute } from './direct-route.js';
import { plainRequest, type PlainRequest } from './plain-request.js';

/** A plain request, and who answers it. */
interface Matched {
  readonly plain: PlainRequest;
  readonly route: DirectRoute;
  readonly parameter: string;
}

const headEnd = '\r\n\r\n';
/** A longer head is not looked at. */
const maxHeadBytes = 2048;
/** So many different heads of POSTs are remembered: a device sends the same few again and again. */
const maxHeads = 512;
/** So often connections that are silent are looked for. */
const lookMs = 1000;
/** A connection stays so much longer than the client was told: its next request may be on its way when that time ends. */
const reuseMs = 1000;

/**
 * Answers plain requests itself: `node:http` and a framework cost more than all else that a small body does, and as much as a short read. Every
 * connection begins here. At the first bytes that are not exactly one plain request that can be let in, the connection goes to `node:http` with them,
 * and stays there. So there is one place that knows what to do with all that is unusual, refused or wrong, and it is not here.
 */
export class DirectRequests implements DirectServer {
  /** Each with the method and path of its requests. */
  readonly #routes: [shape: RegExp, route: DirectRoute][] = [];
  readonly #heads = new Map<string, Matched>();
  readonly #connections = new Set<DirectConnection>();
  readonly #toHttp: (socket: Socket) => void;

  constructor(
    private readonly server: Server,
    private readonly admission: Admission,
    private readonly rates: Rates,
    private readonly inFlight: InFlight,
    readonly traffic: Traffic,
    readonly observer: Observer,
  ) {
    const [toHttp] = server.listeners('connection') as [(socket: Socket) => void];
    this.#toHttp = toHttp;
    server.off('connection', toHttp).on('connection', (socket) => this.#connections.add(new DirectConnection(this, socket)));
    const timer = setInterval(() => this.#closeIdle(this.keepAliveMs + reuseMs, server.headersTimeout), lookMs).unref();
    server.once('close', () => clearInterval(timer));
    const closeIdle = server.closeIdleConnections.bind(server);
    const closeAll = server.closeAllConnections.bind(server);
    // Fastify and a stop of the process close connections by these two methods: here are connections that `node:http` does not know.
    server.closeIdleConnections = () => {
      closeIdle();
      this.#closeIdle();
    };
    server.closeAllConnections = () => {
      closeAll();
      for (const { socket } of this.#connections) socket.destroy();
    };
  }

  /** Has plain requests to this route answered here. */
  add(route: DirectRoute): void {
    // Ids with other characters are for the framework to read or to refuse.
    const path = route.pattern.replace(/:\w+/, '([A-Za-z0-9][\\w.:@+-]*)');
    this.#routes.push([new RegExp(`^${route.method} ${path}$`), route]);
  }

  get keepAliveMs(): number {
    return this.server.keepAliveTimeout;
  }

  get isClosing(): boolean {
    return this.traffic.closing || !this.server.listening;
  }

  requestIn(bytes: Buffer, address: string | undefined): DirectRequest | undefined {
    const headBytes = bytes.indexOf(headEnd) + headEnd.length;
    if (headBytes < headEnd.length || headBytes > maxHeadBytes || this.isClosing) return undefined;
    const matched = this.#match(bytes.toString('latin1', 0, headBytes));
    return matched && bytes.length === headBytes + matched.plain.bodyBytes ? this.#letIn(matched, bytes, address) : undefined;
  }

  handOver(connection: DirectConnection, bytes: Buffer): void {
    const { socket } = connection;
    connection.leave();
    this.#connections.delete(connection);
    socket.unshift(bytes);
    this.#toHttp.call(this.server, socket);
    socket.resume();
  }

  closed(connection: DirectConnection): void {
    this.#connections.delete(connection);
  }

  #match(head: string): Matched | undefined {
    const known = this.#heads.get(head);
    if (known) return known;
    const plain = plainRequest(head);
    if (!plain) return undefined;
    for (const [shape, route] of this.#routes) {
      const found = shape.exec(`${plain.method} ${plain.path}`);
      if (!found) continue;
      const matched = { plain, route, parameter: found[1] ?? '' };
      // A read asks for another window each time.
      if (plain.method === 'POST') this.#remember(head, matched);
      return matched;
    }
    return undefined;
  }

  #remember(head: string, matched: Matched): void {
    if (this.#heads.size >= maxHeads) this.#heads.clear();
    this.#heads.set(head, matched);
  }

  /** Undefined as well when the request is refused: it goes the usual way then, where it is refused with the reason. */
  #letIn({ plain, route, parameter }: Matched, bytes: Buffer, address: string | undefined): DirectRequest | undefined {
    const { method, apiKey, bodyBytes } = plain;
    try {
      const caller = this.admission.admit({ apiKey, place: '' }, address, route.access);
      const changes = method === 'POST';
      if (changes && this.rates.isOver(caller)) return undefined;
      const held = this.inFlight.hold(caller.orgId);
      try {
        if (changes) held.addBody(bodyBytes);
        else held.addRead();
      } catch (error) {
        held.release();
        throw error;
      }
      if (changes) this.rates.charge(caller, 'requests', 1);
      return { plain, route, parameter, caller, bytes, body: bytes.subarray(bytes.length - bodyBytes), held };
    } catch {
      return undefined;
    }
  }

  #closeIdle(idleMs?: number, firstMs?: number): void {
    for (const connection of this.#connections) connection.closeIdle(idleMs, firstMs);
  }
}
