/** Framing of tar files with nothing but plain files in them (POSIX ustar; a size from 8 GiB on is in binary, as GNU tar, bsdtar and others do it). */

const blockBytes = 512;
const magic = 'ustar\u000000';
/** The greatest size in eleven octal digits. */
const maxOctal = 8 ** 11 - 1;
const inBinary = 0x80;

export interface TarEntry {
  readonly name: string;
  readonly size: number;
  /** To be read to its end before the next entry. */
  readonly bytes: AsyncIterable<Buffer>;
}

/** What is read is no tar file of plain files, or not all of it is there. */
export class TarError extends Error {
  override readonly name = 'TarError';
}

/** What stands before the bytes of a file. @param name of at most 100 ASCII characters. */
export function tarHeader(name: string, size: number, mode: number, ms: number): Buffer {
  const head = Buffer.alloc(blockBytes);
  head.write(name, 0, 100, 'latin1');
  head.write(octal(mode, 7), 100);
  for (const at of [108, 116]) head.write(octal(0, 7), at);
  if (size <= maxOctal) head.write(octal(size, 11), 124);
  else {
    head.writeUInt8(inBinary, 124);
    head.writeBigUInt64BE(BigInt(size), 128);
  }
  head.write(octal(Math.floor(ms / 1000), 11), 136);
  head.write('0', 156);
  head.write(magic, 257, 'latin1');
  head.write(`${octal(checksum(head), 6)}\0 `, 148);
  return head;
}

/** What stands behind the bytes of a file. */
export const tarPadding = (size: number): Buffer => Buffer.alloc((blockBytes - (size % blockBytes)) % blockBytes);

/** What stands behind the last file. */
export const tarEnd = (): Buffer => Buffer.alloc(2 * blockBytes);

/** The files in a tar file. @throws TarError when it holds anything else, or ends before its end. */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry> {
  const input = new Input(chunks);
  for (;;) {
    const head = await input.exactly(blockBytes);
    if (isZero(head)) break;
    const { name, size } = parseHeader(head);
    yield { name, size, bytes: input.some(size) };
    if (!isZero(await input.exactly(tarPadding(size).length))) throw new TarError('what stands between its files has changed');
  }
  if (!isZero(await input.exactly(blockBytes))) throw new TarError('its end is not that of a tar file');
  for await (const rest of input.all()) if (!isZero(rest)) throw new TarError('something follows its end');
}

const isZero = (bytes: Buffer): boolean => bytes.every((byte) => byte === 0);

const octal = (value: number, digits: number): string => value.toString(8).padStart(digits, '0');

/** The sum of the bytes of a header, whose own place counts as spaces. */
function checksum(head: Buffer): number {
  let sum = 8 * 0x20;
  for (const [at, byte] of head.entries()) if (at < 148 || at >= 156) sum += byte;
  return sum;
}

function parseHeader(head: Buffer): { readonly name: string; readonly size: number } {
  const textAt = (at: number, length: number): string => head.toString('latin1', at, at + length).replace(/[\0 ].*$/s, '');
  const isOurs = head.toString('latin1', 257, 265) === magic && head[156] === 0x30 && head[345] === 0;
  if (Number.parseInt(textAt(148, 8), 8) !== checksum(head)) throw new TarError('a header in it fails its checksum');
  if (!isOurs) throw new TarError('it has more in it than plain files');
  const size = head[124] === inBinary ? Number(head.readBigUInt64BE(128)) : Number.parseInt(textAt(124, 12), 8);
  if (!Number.isSafeInteger(size)) throw new TarError('a size in it is no number');
  return { name: textAt(0, 100), size };
}

/** Some bytes, taken as many at a time as are wanted. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Buffer = Buffer.alloc(0);

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  async exactly(length: number): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of this.some(length)) parts.push(part);
    return Buffer.concat(parts);
  }

  async *some(length: number): AsyncGenerator<Buffer> {
    for (let left = length; left > 0;) {
      const part = await this.#next(left);
      if (!part) throw new TarError('its end is missing');
      left -= part.length;
      yield part;
    }
  }

  async *all(): AsyncGenerator<Buffer> {
    for (let part; (part = await this.#next(Infinity));) yield part;
  }

  async #next(most: number): Promise<Buffer | undefined> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done) return undefined;
      this.#chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
    }
    const part = this.#chunk.subarray(0, Math.min(most, this.#chunk.length));
    this.#chunk = this.#chunk.subarray(part.length);
    return part;
  }
}
