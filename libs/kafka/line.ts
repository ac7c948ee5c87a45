import { connect, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import type { ISocketFactory } from 'kafkajs';

const keepAliveMs = 60_000;

/** The connections of one client. Once the line is cut, nothing that the client still tries leaves this process. */
export class Line {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  readonly open: ISocketFactory = ({ host, port, ssl, onConnect }) => {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const socket = ssl ? connectSecurely({ host, port, ...name, ...ssl }, onConnect) : connect({ host, port }, onConnect);
    socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) socket.destroy(new Error('the line is cut'));
    return socket;
  };

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy(new Error('the line is cut'));
  }
}
