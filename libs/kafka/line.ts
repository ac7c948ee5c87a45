import { connect, type Socket } from 'node:net';
import type { ISocketFactory } from 'kafkajs';

const keepAliveMs = 60_000;

/** The connections of one client. Once the line is cut, nothing that the client still tries leaves this machine. */
export class Line {
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  readonly open: ISocketFactory = ({ host, port, onConnect }) => {
    const socket = connect({ host, port }, onConnect);
    socket.setKeepAlive(true, keepAliveMs).setNoDelay(true);
    this.#sockets.add(socket);
    socket.once('close', () => this.#sockets.delete(socket));
    if (this.#isCut) cut(socket);
    return socket;
  };

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) cut(socket);
  }
}

function cut(socket: Socket): void {
  const error = new Error('the line is cut');
  if (socket.connecting) socket.destroy(error);
  // Node cannot reset what is just being ended, and never closes it then; that takes only a moment.
  else if (isEnding(socket)) socket.once('finish', () => cut(socket));
  else {
    // After an ordinary end the kernel would go on sending what it holds, for minutes where the network is away.
    socket.resetAndDestroy();
    // Of a reset kafkajs is not told, and would wait for answers.
    socket.emit('error', error);
  }
}

/** Everything is with the kernel, but for the word that this is all. */
const isEnding = ({ writableEnded, writableFinished, writableLength }: Socket): boolean =>
  writableEnded && !writableFinished && writableLength === 0;
