import type { Socket } from 'node:net';
import { maxHeaderSize, STATUS_CODES } from 'node:http';
import { TelemetryError } from '#model';
import { problemContentType, problemHeaders, problemOf } from './problem.js';
import { newRequestId } from './request-id.js';

interface ParserError extends Error {
  readonly code: string;
  /** A Buffer, whatever Fastify's types say. */
  readonly rawPacket: unknown;
}

/** Answers what Node cannot read as a request; there is neither a request nor a reply then. */
export function answerBrokenRequest(error: ParserError, socket: Socket): void {
  const midAnswer = (socket as Socket & { _httpMessage?: { headersSent: boolean } | null })._httpMessage?.headersSent;
  if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0 || midAnswer) {
    socket.destroy();
    return;
  }
  const failure = failureOf(error);
  const problem = problemOf(failure, newRequestId());
  const body = JSON.stringify(problem);
  const headers = {
    ...problemHeaders(failure),
    'x-request-id': problem.request_id,
    'content-type': problemContentType,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join('')}\r\n${body}`, () => socket.destroy());
}

function failureOf(error: ParserError): TelemetryError {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT') {
    return new TelemetryError('slow_body', 'Send the whole request within 30 seconds.', { retryAfterS: 1 });
  }
  if (error.code === 'HPE_HEADER_OVERFLOW') {
    if (beginsWithLongUrl(error.rawPacket)) return new TelemetryError('uri_too_long', 'Shorten the URL to less than 16 KiB.');
    return new TelemetryError('headers_too_large', 'Send fewer and shorter headers: 16 KiB in all.');
  }
  return new TelemetryError('invalid_request', 'Send a well-formed HTTP/1.1 request.');
}

/** Whether these bytes are a request line alone longer than all headers may be. */
function beginsWithLongUrl(packet: unknown): boolean {
  if (!(packet instanceof Buffer) || !/^[A-Z]+ /.test(packet.toString('latin1', 0, 16))) return false;
  const end = packet.indexOf('\n');
  return end < 0 || end > maxHeaderSize;
}
