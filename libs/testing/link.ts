import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A way to a server that a test may disturb. */
export class Link {
  readonly #pairs = new Set<{ readonly near: Socket; readonly far: Socket }>();

  private constructor(private readonly server: Server) {}

  /** A new way to a port of 127.0.0.1, which need not be there yet. */
  static async to(port: () => number): Promise<Link> {
    const server = createServer().listen(0, '127.0.0.1');
    const link = new Link(server);
    server.on('connection', (near) => link.#join(near, connect(port(), '127.0.0.1')));
    await once(server, 'listening');
    return link;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Answers on the connections that are open now do not arrive any more; what is sent does. */
  holdAnswers(): void {
    for (const { near, far } of this.#pairs) far.unpipe(near).resume();
  }

  /** Ends the connections that are open now. */
  cut(): void {
    for (const { near, far } of this.#pairs) {
      near.destroy();
      far.destroy();
    }
  }

  close(): void {
    this.cut();
    this.server.close();
  }

  #join(near: Socket, far: Socket): void {
    const pair = { near, far };
    this.#pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.on('error', () => other.destroy());
      one.on('close', () => {
        other.destroy();
        this.#pairs.delete(pair);
      });
    }
  }
}
