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

  /** Two on one port of two addresses. The system names a port that is free at the first address, so it can be in use at the second: then both try another. */
  static async openPair(first: string, second: string): Promise<[Receiver, Receiver]> {
    for (let triesLeft = 20; ; triesLeft--) {
      const one = await Receiver.open(first);
      try {
        return [one, await Receiver.open(second, one.port)];
      } catch (error) {
        await one.close();
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || !triesLeft) throw error;
      }
    }
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
