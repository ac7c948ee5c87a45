import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Access } from '../access.js';
import type { Admission } from '../admission.js';
import type { Observer } from '../answered.js';
import type { InFlight } from '../in-flight.js';
import type { Rates } from '../rates.js';
import type { Traffic } from '../traffic.js';
import { DirectConnection, type DirectRequest, type DirectServer } from './direct-connection.js';
import { plainPost, type PlainPost } from './plain-post.js';
import type { TakeBody } from './take-body.js';

/** What may be asked for where a request is answered directly: a key, and no more than that can tell. */
export type DirectAccess = Pick<Access, 'payment' | 'scope'>;

interface DirectRoute {
  readonly access: DirectAccess;
  readonly take: TakeBody;
}

const headEnd = '\r\n\r\n';
/** A longer head is not looked at. */
const maxHeadBytes = 2048;
/** Heads whose meaning is remembered: a device sends the same few again and again. */
const maxHeads = 512;
/** So often connections that are silent are looked for. */
const lookMs = 1000;
/** A connection stays so much longer than the client was told: its next request may be on its way when that time ends. */
const reuseMs = 1000;

/**
 * Answers plain POSTs itself: `node:http` and a framework cost more than all else that a small body does. Every connection begins here. At the first
 * bytes that are not exactly one plain POST that can be let in, the connection goes to `node:http` with them, and stays there. So there is one place
 * that knows what to do with all that is unusual, refused or wrong, and it is not here.
 */
export class DirectPosts implements DirectServer {
  readonly #routes = new Map<string, DirectRoute>();
  readonly #heads = new Map<string, PlainPost>();
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

  /** Has plain POSTs to this path answered here. The framework needs the same route for all others. */
  add(path: string, access: DirectAccess, take: TakeBody): void {
    this.#routes.set(path, { access, take });
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
    const post = this.#postOf(bytes.toString('latin1', 0, headBytes));
    const route = post && this.#routes.get(post.path);
    return route && bytes.length === headBytes + post.bodyBytes ? this.#letIn(post, route, bytes, address) : undefined;
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

  #postOf(head: string): PlainPost | undefined {
    const known = this.#heads.get(head);
    if (known) return known;
    const post = plainPost(head);
    if (!post) return undefined;
    if (this.#heads.size >= maxHeads) this.#heads.clear();
    this.#heads.set(head, post);
    return post;
  }

  /** Undefined as well when the request is refused: it goes the usual way then, where it is refused with the reason. */
  #letIn(post: PlainPost, { access, take }: DirectRoute, bytes: Buffer, address: string | undefined): DirectRequest | undefined {
    const { path, apiKey, traceparent } = post;
    try {
      const caller = this.admission.admit({ apiKey, place: '' }, address, access);
      if (this.rates.isOver(caller)) return undefined;
      const held = this.inFlight.hold(caller.orgId);
      try {
        held.addBody(post.bodyBytes);
      } catch (error) {
        held.release();
        throw error;
      }
      this.rates.charge(caller, 'requests', 1);
      return { path, caller, traceparent, bytes, body: bytes.subarray(bytes.length - post.bodyBytes), held, take };
    } catch {
      return undefined;
    }
  }

  #closeIdle(idleMs?: number, firstMs?: number): void {
    for (const connection of this.#connections) connection.closeIdle(idleMs, firstMs);
  }
}
