import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import type { Answer } from './send.js';

/** What a connection gave until the other side closed it. */
export interface RawAnswer extends Answer {
  /** Everything that came, to the byte. */
  readonly all: string;
}

/**
 * Writes bytes that no HTTP client would write and resolves when the server has closed the connection.
 *
 * @param write gets the open socket.
 * @param signal ends the wait from this side.
 */
export async function rawExchange(base: string, write: (socket: Socket) => void, signal?: AbortSignal): Promise<RawAnswer> {
  const url = new URL(base);
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const socket = connect({ host: url.hostname, port: Number(url.port || 80) }, () => write(socket));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk) => chunks.push(chunk));
  socket.on('close', resolve);
  signal?.addEventListener('abort', () => socket.destroy());
  // A server that refuses early may reset while we still write; what it said before counts.
  socket.on('error', (error) => (chunks.length > 0 ? resolve() : reject(error)));
  await promise;
  return parsed(Buffer.concat(chunks).toString());
}

/**
 * What a client gets that reads nothing before it has sent all of its request, as most simple ones do: blocking writes, then reads.
 * Rejects when the connection was reset before it could send or read.
 */
export async function sendThenRead(base: string, parts: readonly (string | Buffer)[]): Promise<RawAnswer> {
  const url = new URL(base);
  const socket = connect({ host: url.hostname, port: Number(url.port || 80) }).pause();
  await once(socket, 'connect');
  for (const part of parts) await new Promise<void>((sent, failed) => socket.write(part, (error) => (error ? failed(error) : sent())));
  return parsed((await buffer(socket)).toString());
}

/** The bytes of one request. */
export function rawRequest(start: string, headers: readonly string[], body = ''): string {
  return [start, ...headers, '', body].join('\r\n');
}

function parsed(all: string): RawAnswer {
  const end = all.indexOf('\r\n\r\n');
  const [start = '', ...lines] = all.slice(0, end < 0 ? all.length : end).split('\r\n');
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  return { status: Number(start.split(' ')[1] ?? 0), headers, text: end < 0 ? '' : all.slice(end + 4), all };
}
