import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, pipeline, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { Failure } from './failure.js';

/** A text that comes in pieces, and how much of it has been read. */
export interface Input {
  readonly name: string;
  /** Size of the file on disk; undefined when it is unknown. */
  readonly sizeBytes: number | undefined;
  /** Bytes read until now, before inflating. */
  readonly readBytes: () => number;
  /** UTF-8 without a byte order mark. Rejects `Failure`. */
  readonly text: AsyncIterable<string>;
}

/** Opens a file, or stdin for `-`; what begins like gzip is inflated. The signal ends the reading. */
export async function openInput(path: string, signal: AbortSignal): Promise<Input> {
  const fromStdin = path === '-';
  const name = fromStdin ? 'stdin' : path;
  const sizeBytes = fromStdin ? undefined : await fileBytes(path);
  const source: Readable = addAbortSignal(signal, fromStdin ? process.stdin : createReadStream(path));
  let readBytes = 0;
  async function* counted(): AsyncGenerator<Buffer> {
    for await (const chunk of source) {
      readBytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
  return { name, sizeBytes, readBytes: () => readBytes, text: decoded(name, inflated(counted())) };
}

async function fileBytes(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) throw new Failure(`${path} is a folder: name a CSV file in it.`);
    return found.isFile() ? found.size : undefined;
  } catch (cause) {
    if (cause instanceof Failure) throw cause;
    throw new Failure(`${path} cannot be read: check the path (\`-\` reads stdin).`, undefined, { cause });
  }
}

async function* inflated(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  const first = await chunks.next();
  if (first.done) return;
  async function* whole(): AsyncGenerator<Buffer> {
    yield first.value as Buffer;
    yield* chunks;
  }
  const isGzip = first.value[0] === 0x1f && first.value[1] === 0x8b;
  yield* isGzip ? pipeline(whole, createGunzip(), () => undefined) : whole();
}

async function* decoded(name: string, chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true });
    yield decoder.decode();
  } catch (cause) {
    throw new Failure(`${name} ${flaw(cause as NodeJS.ErrnoException)}`, undefined, { cause });
  }
}

function flaw({ code }: NodeJS.ErrnoException): string {
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return 'is not UTF-8: save it as UTF-8 and import it again.';
  if (code?.startsWith('Z_')) return 'is broken or cut off (gzip): what could be read of it was sent.';
  return `cannot be read (${code ?? 'unknown reason'}).`;
}
