import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { hasBody } from './read-body.js';

/** What a client may still send once it is answered. It is dropped as it comes, so that such a connection costs one read buffer at most. */
export interface DrainLimits {
  readonly bytes: number;
  readonly ms: number;
}

export const drainLimits: DrainLimits = { bytes: 64 * 1024 * 1024, ms: 30_000 };

/**
 * To be called before any answer, for requests whose body has not come to its end by then. Many clients send all of it before they read,
 * and closing a connection with unread bytes resets it, so that such a client would never see its answer. The rest of the body is
 * dropped; where the answer ends the connection, only our half of it is closed first.
 */
export function drainBody(request: IncomingMessage, limits = drainLimits): void {
  if (request.complete || !hasBody(request.headers)) return;
  const { socket } = request;
  cutBeyond(limits.bytes, socket, request);
  // Node calls this once the answer is out, when the connection is not kept.
  socket.destroySoon = () => {
    if (request.complete) Socket.prototype.destroySoon.call(socket);
    else {
      request.once('end', () => socket.destroy()).resume();
      cutAfter(limits.ms, socket);
      socket.end();
    }
  };
  request.once('end', () => Reflect.deleteProperty(socket, 'destroySoon'));
}

/** Answers what is no request that the HTTP parser could read on: the same as above, for all that still comes in. */
export function endAndDrain(socket: Socket, answer: string, limits = drainLimits): void {
  socket.removeAllListeners('data');
  cutBeyond(limits.bytes, socket, socket);
  cutAfter(limits.ms, socket);
  socket.resume().end(answer);
}

/** Ends the connection when more bytes come in. @param stream what tells of them. */
function cutBeyond(bytes: number, socket: Socket, stream: IncomingMessage | Socket): void {
  const most = socket.bytesRead + bytes;
  stream.on('data', () => socket.bytesRead > most && socket.destroy());
}

function cutAfter(ms: number, socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), ms).unref();
  socket.once('close', () => clearTimeout(timer));
}
