import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { gunzip, gunzipSync } from 'node:zlib';
import { TelemetryError } from '#model';

/** As sent, and after inflating. */
export const maxBodyBytes = 5 * 1024 * 1024;
/** Up to here, as sent and inflated, the thread pool costs more than it saves. */
const inlineGzipBytes = 64 * 1024;
const inlineInflatedBytes = 1024 * 1024;
const leastReleased = 2048;
/** Less is refused by zlib. */
const leastChunkBytes = 64;

type Done = (error: Error | null, body?: Buffer) => void;

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

export const hasBody = (headers: IncomingHttpHeaders): boolean => headers['transfer-encoding'] !== undefined || contentLength(headers) > 0;

export const contentLength = (headers: IncomingHttpHeaders): number => Number(headers['content-length'] ?? 0);

export const jsonType = 'application/json';
/** What forms of HTML send. */
export const formType = 'application/x-www-form-urlencoded';

/** Checks what the headers say of a body, before the first byte of it is read. @throws TelemetryError: 415, then 413. */
export function checkBodyHeaders(headers: IncomingHttpHeaders, expected = jsonType): void {
  const type = headers['content-type'];
  if (type === undefined || !isOfType(type, expected)) {
    throw new TelemetryError('unsupported_content_type', `Send Content-Type: ${expected}.`);
  }
  const encoding = encodingOf(headers);
  if (encoding !== 'gzip' && encoding !== 'identity') {
    throw new TelemetryError('unsupported_content_encoding', 'Send the body plain or with Content-Encoding: gzip, once.');
  }
  if (contentLength(headers) > maxBodyBytes) throw tooLarge();
}

/** Whether a `Content-Type` names this type, with parameters or without. */
export const isOfType = (value: string, type: string): boolean => value === type || value.split(';', 1)[0]!.trim().toLowerCase() === type;

const encodingOf = (headers: IncomingHttpHeaders): string => headers['content-encoding']?.trim().toLowerCase() || 'identity';

const tooLarge = (): TelemetryError =>
  new TelemetryError('body_too_large', 'Split the points over several bodies: one is at most 5 MiB, as sent and after inflating.');

const cutOff = (cause: Error): TelemetryError =>
  new TelemetryError('invalid_request', 'Send the whole body: the connection ended before it did.', { cause });

/**
 * Collects a body, inflated when it is gzip. `hold` is told of what is held, as it comes, and may throw to refuse it.
 * After a refusal the rest is read and dropped, so that the client gets to see the answer.
 */
export function readBody(payload: IncomingMessage, hold: (bytes: number) => void, done: Done): void {
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
      hold(chunk.length);
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

/**
 * Gives the memory of bytes back now, where they have it to themselves; they are empty afterwards. Left to the collector, every 64 MB of
 * such garbage would make it go through the whole heap; for small ones that costs less.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= leastReleased && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

/** Inflates a gzip body. What comes out is held before it is there, going by the size that gzip ends with; where that lies, all that may come. */
function inflate(body: Buffer, hold: (bytes: number) => void, done: Done): void {
  const told = body.length < 4 ? 0 : body.readUInt32LE(body.length - 4);
  inflateWithin(Math.min(Math.max(told, 1), maxBodyBytes), body, hold, done);
}

function inflateWithin(bytes: number, body: Buffer, hold: (bytes: number) => void, done: Done): void {
  const settle = (error: Error | null, inflated?: unknown): void => {
    if (error && isTooLarge(error) && bytes < maxBodyBytes) {
      hold(-bytes);
      return inflateWithin(maxBodyBytes, body, hold, done);
    }
    if (error) return done(isTooLarge(error) ? tooLarge() : broken(error));
    const { buffer, engine } = inflated as Inflated;
    if (engine.bytesWritten < body.length) return done(broken());
    hold(buffer.length - bytes);
    done(null, buffer);
  };
  const [refusal] = attempt(() => hold(bytes));
  // In one piece: each of the usual 16 KiB goes to another thread and back, and all are copied together in the end.
  const options = { chunkSize: Math.max(bytes, leastChunkBytes), maxOutputLength: bytes, info: true };
  if (refusal) done(refusal);
  else if (body.length < inlineGzipBytes && bytes <= inlineInflatedBytes) settle(...attempt(() => gunzipSync(body, options)));
  else gunzip(body, options, settle);
}

function attempt(work: () => unknown): [Error | null, unknown?] {
  try {
    return [null, work()];
  } catch (error) {
    return [error as Error];
  }
}

const isTooLarge = (error: Error): boolean => (error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE';

const broken = (cause?: Error): TelemetryError =>
  new TelemetryError('invalid_gzip', 'Send one complete gzip stream and nothing after it.', { cause });
