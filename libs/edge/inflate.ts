import { gunzip, gunzipSync } from 'node:zlib';
import { TelemetryError } from '#model';
import { maxBodyBytes, tooLarge } from './body-size.js';

export type Done = (error: Error | null, body?: Buffer) => void;

/** Up to here, as sent and inflated, the thread pool costs more than it saves. */
const inlineGzipBytes = 64 * 1024;
const inlineInflatedBytes = 1024 * 1024;
/** Less is refused by zlib. */
const leastChunkBytes = 64;

interface Inflated {
  readonly buffer: Buffer;
  readonly engine: { readonly bytesWritten: number };
}

/** Inflates a gzip body. What comes out is held before it is there, going by the size that gzip ends with; where that lies, all that may come. */
export function inflate(body: Buffer, hold: (bytes: number) => void, done: Done): void {
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
