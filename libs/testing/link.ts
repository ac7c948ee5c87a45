import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { Transform } from 'node:stream';
import { freePorts } from '../../infra/servers/index.js';

/** What becomes of new connections: they reach the server, are taken and never answered, or are refused. */
export type Way = 'open' | 'silent' | 'refusing';

interface Connection {
  readonly near: Socket;
  /** Undefined where nobody answers. */
  readonly far: Socket | undefined;
  isSilent: boolean;
}

/** A way to a server that a test may disturb. */
export class Link {
  readonly #connections = new Set<Connection>();
  #way: Way = 'open';
  /** The most connections that were open at once. */
  mostConnections = 0;

  private constructor(
    private readonly server: Server,
    readonly port: number,
    private readonly delayMs: number,
  ) {}

  /** A new way to a port of 127.0.0.1, which need not be there yet. @param delayMs how long everything takes, in each direction. */
  static async to(port: () => number, { delayMs = 0 } = {}): Promise<Link> {
    const [own] = (await freePorts(1)) as [number];
    const server = createServer();
    const link = new Link(server, own, delayMs);
    server.on('connection', (near) => link.#join(near, link.#way === 'open' ? connect(port(), '127.0.0.1') : undefined));
    await link.turn('open');
    return link;
  }

  /** How many connections are open now. */
  get open(): number {
    return this.#connections.size;
  }

  /** Answers on the connections that are open now do not arrive any more; what is sent does. */
  holdAnswers(): void {
    for (const connection of this.#connections) {
      connection.isSilent = true;
      connection.far?.unpipe().resume();
    }
  }

  /** Answers on the connections that are open now arrive no earlier than the function that is returned is called. */
  delayAnswers(): () => void {
    const delayed = [...this.#connections].filter(({ isSilent }) => !isSilent);
    for (const { far } of delayed) far?.unpipe();
    return () => {
      for (const { near, far, isSilent } of delayed) if (far && !isSilent && !near.destroyed) this.#pipe(far, near);
    };
  }

  /** Ends the connections that are open now. */
  cut(): void {
    for (const { near, far } of this.#connections) {
      near.destroy();
      far?.destroy();
    }
  }

  /** Ends the connections that are open now, and has new ones go this way. */
  async turn(way: Way): Promise<void> {
    const { server, port } = this;
    this.#way = way;
    this.cut();
    const refuses = way === 'refusing';
    if (refuses && server.listening) await once(server.close(), 'close');
    if (!refuses && !server.listening) await once(server.listen(port, '127.0.0.1'), 'listening');
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  #join(near: Socket, far: Socket | undefined): void {
    const connection = { near, far, isSilent: false };
    this.#connections.add(connection);
    this.mostConnections = Math.max(this.mostConnections, this.#connections.size);
    if (far)
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const)
        this.#pipe(from, to);
    else near.resume();
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one?.on('error', () => other?.destroy());
      one?.on('close', () => {
        other?.destroy();
        this.#connections.delete(connection);
      });
    }
  }

  #pipe(from: Socket, to: Socket): void {
    if (this.delayMs > 0) from.pipe(delayed(this.delayMs)).pipe(to);
    else from.pipe(to);
  }
}

/** Passes each chunk on so much later, in order. */
const delayed = (ms: number): Transform =>
  new Transform({
    transform(chunk, _, done) {
      setTimeout(() => this.push(chunk), ms);
      done();
    },
    flush: (done) => void setTimeout(done, ms),
  });
