import type { FastifyReply } from 'fastify';
import type { Socket } from 'node:net';
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import { TelemetryError } from '#model';
import type { Observer } from './answered.js';
import { drainLimits, endAndDrain } from './drain.js';
import { problemContentType, problemHeaders, problemOf, type Problem } from './problem.js';
import { newRequestId } from './request-id.js';

export interface ParserError extends Error {
  readonly code: string;
  /** A Buffer, whatever Fastify's types say. */
  readonly rawPacket: unknown;
}

/** Shorter than after other refusals: what the broken request holds in memory is free only afterwards. */
const brokenDrainMs = 5000;

/** The last request of each connection whose body has not come or whose answer is not out. */
const lastReply = new WeakMap<Socket, FastifyReply>();

export function noteRequest(reply: FastifyReply): void {
  lastReply.set(reply.request.raw.socket, reply);
}

export function noteAnswer({ request: { raw } }: FastifyReply): void {
  if (raw.complete) lastReply.delete(raw.socket);
}

/** Answers what Node cannot read as a request, or not to its end. */
export function answerBrokenRequest(error: ParserError, socket: Socket, observer: Observer, drain = drainLimits): void {
  const last = lastReply.get(socket);
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0 || last?.sent) {
    socket.destroy();
    return;
  }
  if (last?.request.raw.complete) {
    // What is broken came behind a whole request, and the next answer on this connection is that one's.
    last.raw.shouldKeepAlive = false;
    return;
  }
  const failure = failureOf(error);
  const problem = problemOf(failure, last?.request.id ?? newRequestId());
  endAndDrain(socket, answerText(problem, problemHeaders(failure)), { ...drain, ms: Math.min(drain.ms, brokenDrainMs) });
  if (last) last.request.failure = failure;
  else {
    const { request_id: requestId, status } = problem;
    observer({ requestId, method: '', route: '', status, durationMs: 0, complete: true, address: socket.remoteAddress, failure });
  }
}

function answerText(problem: Problem, hints: Readonly<Record<string, string>>): string {
  const body = JSON.stringify(problem);
  const headers = {
    ...hints,
    'x-request-id': problem.request_id,
    'content-type': problemContentType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`;
}

function failureOf(error: ParserError): TelemetryError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new TelemetryError('slow_body', 'Send the whole request within 30 seconds.', { retryAfterS: 1 });
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    if (beginsWithLongUrl(error.rawPacket)) return new TelemetryError('uri_too_long', 'Shorten the URL to less than 16 KiB.');
    return new TelemetryError('headers_too_large', 'Send fewer and shorter headers: 16 KiB in all.');
  }
  if (error.code === 'HPE_INVALID_URL') {
    return new TelemetryError('invalid_request', 'Percent-encode what is not ASCII in the URL, and blanks: %C3%A9 for an é.');
  }
  return new TelemetryError('invalid_request', 'Send a well-formed HTTP/1.1 request.');
}

/** Whether these bytes are a request line alone longer than all headers may be. */
function beginsWithLongUrl(packet: unknown): boolean {
  if (!(packet instanceof Buffer) || !/^[A-Z]+ /.test(packet.toString('latin1', 0, 16))) return false;
  const end = packet.indexOf('\n');
  return end < 0 || end > maxHeaderSize;
}
