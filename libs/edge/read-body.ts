import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { TelemetryError } from '#model';
import { maxBodyBytes, tooLarge } from './body-size.js';
import { inflate, type Done } from './inflate.js';
import { release } from './release.js';

export const hasBody = (headers: IncomingHttpHeaders): boolean => headers['transfer-encoding'] !== undefined || contentLength(headers) > 0;

export const contentLength = (headers: IncomingHttpHeaders): number => Number(headers['content-length'] ?? 0);

/** Checks what the headers say of a body, before the first byte of it is read. @throws TelemetryError: 415, then 413. */
export function checkBodyHeaders(headers: IncomingHttpHeaders): void {
  const type = headers['content-type'];
  if (type !== 'application/json' && type?.split(';', 1)[0]!.trim().toLowerCase() !== 'application/json') {
    throw new TelemetryError('unsupported_content_type', 'Send Content-Type: application/json.');
  }
  const encoding = encodingOf(headers);
  if (encoding !== 'gzip' && encoding !== 'identity') {
    throw new TelemetryError('unsupported_content_encoding', 'Send the body plain or with Content-Encoding: gzip, once.');
  }
  if (contentLength(headers) > maxBodyBytes) throw tooLarge();
}

const encodingOf = (headers: IncomingHttpHeaders): string => headers['content-encoding']?.trim().toLowerCase() || 'identity';

const cutOff = (cause: Error): TelemetryError =>
  new TelemetryError('invalid_request', 'Send the whole body: the connection ended before it did.', { cause });

/**
 * Collects a body, inflated when it is gzip. `hold` is told of what is held beyond Content-Length and may throw to refuse it.
 * After a refusal the rest is read and dropped, so that the client gets to see the answer.
 */
export function readBody(payload: IncomingMessage, hold: (bytes: number) => void, done: Done): void {
  const announced = contentLength(payload.headers);
  const chunks: Buffer[] = [];
  let length = 0;

  const settle = (error: Error | null): void => {
    payload.off('data', take).off('end', finish).off('error', settle);
    if (!error) {
      const body = joined(chunks, length);
      if (encodingOf(payload.headers) === 'gzip' && length > 0) inflate(body, hold, done);
      else done(null, body);
      return;
    }
    payload.on('error', () => {}).resume();
    done(error instanceof TelemetryError ? error : cutOff(error));
  };
  const finish = (): void => settle(null);
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    chunks.push(chunk);
    try {
      if (length > maxBodyBytes) throw tooLarge();
      if (length > announced) hold(chunk.length);
    } catch (error) {
      settle(error as Error);
    }
  };
  payload.on('data', take).on('end', finish).on('error', settle);
}

function joined(chunks: readonly Buffer[], length: number): Buffer {
  if (chunks.length === 1) return chunks[0]!;
  const body = Buffer.concat(chunks, length);
  for (const chunk of chunks) release(chunk);
  return body;
}
