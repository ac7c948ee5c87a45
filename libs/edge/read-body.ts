import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { gunzip, gunzipSync } from 'node:zlib';
import { TelemetryError } from '#model';

/** As sent, and after inflating. */
export const maxBodyBytes = 5 * 1024 * 1024;

/** Below this many bytes of gzip the thread pool costs more than it saves. */
const inlineGzipBytes = 64 * 1024;

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

const tooLarge = (): TelemetryError =>
  new TelemetryError('body_too_large', 'Split the points over several bodies: one is at most 5 MiB, as sent and after inflating.');

const cutOff = (cause: Error): TelemetryError =>
  new TelemetryError('invalid_request', 'Send the whole body: the connection ended before it did.', { cause });

type Done = (error: Error | null, body?: Buffer) => void;

/**
 * Collects a body, inflated when it is gzip. `hold` is told of the bytes held beyond Content-Length and may throw to refuse them.
 * After a refusal the rest is read and dropped, so that the client gets to see the answer.
 */
export function readBody(payload: IncomingMessage, hold: (bytes: number) => void, done: Done): void {
  const announced = contentLength(payload.headers);
  const chunks: Buffer[] = [];
  let length = 0;

  const settle = (error: Error | null): void => {
    payload.off('data', take).off('end', finish).off('error', settle);
    if (!error) return inflate(payload.headers, chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, length), hold, done);
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

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

function inflate(headers: IncomingHttpHeaders, body: Buffer, hold: (bytes: number) => void, done: Done): void {
  if (body.length === 0 || encodingOf(headers) !== 'gzip') return done(null, body);
  const options = { maxOutputLength: maxBodyBytes, info: true };
  const settle = (error: Error | null, inflated?: unknown): void => {
    const refusal = error ? refused(error) : unfit(inflated as Inflated, body, hold);
    if (refusal) done(refusal);
    else done(null, (inflated as Inflated).buffer);
  };
  if (body.length >= inlineGzipBytes) gunzip(body, options, settle);
  else settle(...attempt(() => gunzipSync(body, options)));
}

function attempt(work: () => unknown): [Error | null, unknown?] {
  try {
    return [null, work()];
  } catch (error) {
    return [error as Error];
  }
}

const refused = (error: NodeJS.ErrnoException): TelemetryError => (error.code === 'ERR_BUFFER_TOO_LARGE' ? tooLarge() : broken(error));

function unfit({ buffer, engine }: Inflated, body: Buffer, hold: (bytes: number) => void): Error | null {
  if (engine.bytesWritten < body.length) return broken();
  return attempt(() => hold(buffer.length))[0];
}

const broken = (cause?: Error): TelemetryError =>
  new TelemetryError('invalid_gzip', 'Send one complete gzip stream and nothing after it.', { cause });
