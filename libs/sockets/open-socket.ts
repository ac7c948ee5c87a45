import { isIP, Socket } from 'node:net';
import { connect as connectTls, type ConnectionOptions } from 'node:tls';
import { inWords } from './tls-errors.js';

/** How a connection is encrypted; texts are PEM. The certificate of the other side and its name are always checked. */
export interface TlsOptions {
  /** Certificates of the authorities that are trusted; those that come with Node when left out. */
  readonly ca?: string;
  /** Ours, with its key, for a server that asks for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** The same for Node. Otherwise its variable `NODE_TLS_REJECT_UNAUTHORIZED` would decide whether anything is checked. */
export const checking = (tls: TlsOptions): ConnectionOptions => ({ ...tls, rejectUnauthorized: true });

export interface Peer {
  readonly host: string;
  readonly port: number;
  /** Plain TCP when left out. */
  readonly tls?: TlsOptions | undefined;
}

/** The TCP socket under each TLS socket: Node resets only that one. */
const underneath = new WeakMap<Socket, Socket>();
/** TLS sockets whose other side has shown who it is. */
const secured = new WeakSet<Socket>();

/** Opens a connection that `resetSocket` can end. When TLS fails, the message of its error says so in words. */
export function openSocket({ host, port, tls }: Peer): Socket {
  const tcp = new Socket().setNoDelay(true).setKeepAlive(true, keepAliveMs);
  if (!tls) return tcp.connect({ host, port });
  // The socket has no handle yet: TLS then goes through its streams. Over the handle itself Node crashes when that is reset below TLS, and does
  // not learn that another address of the host is tried. Until it connects, what TLS begins with must wait.
  tcp.cork();
  const socket = connectTls({ ...checking(tls), socket: tcp, host, ...(isIP(host) === 0 && { servername: host }) });
  tcp.on('error', (error) => socket.destroy(error)).connect({ host, port });
  tcp.uncork();
  underneath.set(socket, tcp);
  socket.once('secureConnect', () => secured.add(socket));
  // First of all listeners, so that all others are told in words.
  socket.prependListener('error', (error) => {
    const at = `${host}:${port}`;
    const isCutShort = isReset(error) && !tcp.connecting && !secured.has(socket);
    error.message = isCutShort
      ? `${at} ends the connection before TLS begins: is this its port for TLS?`
      : (inWords(error, at) ?? error.message);
  });
  return socket;
}

const keepAliveMs = 60_000;

const isReset = ({ code }: NodeJS.ErrnoException): boolean => code === 'ECONNRESET';

/** Calls back once something may be sent: with TLS, when the other side has shown who it is. */
export function onceOpen(socket: Socket, open: () => void): void {
  const isTls = underneath.has(socket);
  if (isTls ? secured.has(socket) : !socket.connecting) open();
  else socket.once(isTls ? 'secureConnect' : 'connect', open);
}

/**
 * Ends a connection at once and throws away what was not delivered of it, also what the kernel holds: after an ordinary end the kernel would
 * go on sending that, for minutes where the network is away. The other side gets a reset.
 *
 * @param error is emitted on the socket.
 */
export function resetSocket(socket: Socket, error?: Error): void {
  const tcp = underneath.get(socket) ?? socket;
  if (tcp.connecting) {
    socket.destroy(error);
    tcp.destroy();
  }
  // Node cannot reset a socket that is just ending, and would never close it; the end takes only a moment.
  else if (isEnding(tcp)) tcp.once('finish', () => resetSocket(socket, error));
  else {
    tcp.resetAndDestroy();
    if (error) socket.emit('error', error);
  }
}

/** Whether the kernel has everything but the end of the stream. */
const isEnding = ({ writableEnded, writableFinished, writableLength }: Socket): boolean =>
  writableEnded && !writableFinished && writableLength === 0;
