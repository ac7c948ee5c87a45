import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { createServer as createTlsServer, TLSSocket } from 'node:tls';
import type { Certified } from './certificates.js';

const silent = (): void => undefined;
const join = (near: Socket, port: number): void => {
  const far = connect(port, '127.0.0.1').on('error', () => near.destroy());
  near.on('error', silent).on('close', () => far.destroy());
  near.pipe(far).pipe(near);
};

/** Takes connections with TLS and passes what they hold on to a port of 127.0.0.1. */
export async function tlsFront(certified: Certified, port: number): Promise<Server> {
  const front = createTlsServer({ ...certified }, (near) => join(near, port)).on('tlsClientError', silent);
  await once(front.listen(0, '127.0.0.1'), 'listening');
  return front;
}

/** The same for the PostgreSQL protocol, where a client asks for TLS first. It is told that there is none when no certificate is given. */
export async function pgTlsFront(certified: Certified | undefined, port: number): Promise<Server> {
  const front = createServer((near) => {
    near.on('error', silent).once('data', () => {
      near.write(certified ? 'S' : 'N');
      if (!certified) return;
      const secured = new TLSSocket(near, { isServer: true, ...certified }).on('error', silent);
      secured.once('secure', () => join(secured, port));
    });
  });
  await once(front.listen(0, '127.0.0.1'), 'listening');
  return front;
}

export const portOf = (server: Server): number => (server.address() as AddressInfo).port;
