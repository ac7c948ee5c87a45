import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ReceivedRequest {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Answers a request, or leaves it without an answer. */
export type Behaviour = (request: ReceivedRequest, response: ServerResponse) => void;

/** Something that alerts are sent to: it keeps what it has received. */
export class Receiver {
  readonly received: ReceivedRequest[] = [];
  behaviour: Behaviour = (_, response) => void response.end();

  private constructor(
    private readonly server: Server,
    private readonly address: string,
  ) {}

  /** @param address of this machine. @param port 0 for a free one. */
  static async open(address = '127.0.0.1', port = 0): Promise<Receiver> {
    const server = createServer();
    await once(server.listen(port, address), 'listening');
    const receiver = new Receiver(server, address);
    server.on('request', (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const got = { path: request.url!, headers: request.headers, body: Buffer.concat(chunks).toString() };
        receiver.received.push(got);
        receiver.behaviour(got, response);
      });
    });
    return receiver;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://${this.address}:${this.port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}
