/** Java's clients begin with this mark, two version numbers, and then blocks with their length in front. Other clients write one block. */
const javaMark = Buffer.from('\x82SNAPPY\0', 'latin1');
const versionsBytes = 8;

/** Node has no Snappy. @throws RangeError when the bytes are not Snappy. */
export function snappyDecompress(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, javaMark.length).equals(javaMark)) return snappyBlock(bytes);
  const blocks: Buffer[] = [];
  for (let at = javaMark.length + versionsBytes; at < bytes.length;) {
    const end = at + 4 + bytes.readInt32BE(at);
    blocks.push(snappyBlock(bytes.subarray(at + 4, end)));
    at = end;
  }
  return Buffer.concat(blocks);
}

/** A block is its length, then elements whose last two bits say what they are: literal bytes, or one of three ways to repeat earlier bytes. */
function snappyBlock(bytes: Buffer): Buffer {
  let [at, length] = [0, 0];
  for (let shift = 0, more = true; more; shift += 7) {
    const byte = bytes.readUInt8(at++);
    length += (byte & 0x7f) * 2 ** shift;
    more = byte > 0x7f;
  }
  const out = Buffer.allocUnsafe(length);
  for (let written = 0; written < length;) {
    const tag = bytes.readUInt8(at++);
    const [kind, rest] = [tag & 3, tag >> 2];
    let size = kind === 1 ? (rest & 7) + 4 : rest + 1;
    if (kind === 0) {
      if (rest >= 60) [size, at] = [bytes.readUIntLE(at, rest - 59) + 1, at + rest - 59];
      if (at + size > bytes.length) throw new RangeError('a batch is cut off');
      bytes.copy(out, written, at, at + size);
      at += size;
    } else {
      const distance = kind === 1 ? ((rest >> 3) << 8) + bytes.readUInt8(at) : bytes.readUIntLE(at, kind === 2 ? 2 : 4);
      at += kind === 3 ? 4 : kind;
      repeat(out, written, distance, size);
    }
    written += size;
  }
  return out;
}

const frameBytes = 6;
const checksumBytes = 4;
const flags = { blockChecksums: 0x10, contentSize: 0x08, dictionary: 0x01 };

/** Node has no LZ4. Takes one frame, and ignores its checksums: the batch has one of its own. @throws RangeError when the bytes are not LZ4. */
export function lz4Decompress(bytes: Buffer): Buffer {
  const has = (flag: number): boolean => (bytes.readUInt8(4) & flag) !== 0;
  const largestBlock = 2 ** (8 + 2 * ((bytes.readUInt8(5) >> 4) & 7));
  let at = frameBytes + (has(flags.contentSize) ? 8 : 0) + (has(flags.dictionary) ? 4 : 0) + 1;
  let [out, written] = [Buffer.allocUnsafe(4 * bytes.length), 0];
  for (;;) {
    const size = bytes.readUInt32LE(at);
    if (size === 0) return out.subarray(0, written);
    const block = bytes.subarray(at + 4, at + 4 + (size & 0x7fffffff));
    if (written + largestBlock > out.length) out = Buffer.concat([out], 2 * out.length + largestBlock);
    written = size > 0x7fffffff ? written + block.copy(out, written) : unpackLz4(block, out, written);
    at += 4 + block.length + (has(flags.blockChecksums) ? checksumBytes : 0);
  }
}

/** A block is pairs of literal bytes and of a repeat of earlier bytes, also of an earlier block; the last pair has no repeat. */
function unpackLz4(block: Buffer, out: Buffer, from: number): number {
  let [at, written] = [0, from];
  const lengthOf = (nibble: number): number => {
    let length = nibble;
    if (nibble === 15) for (let byte = 255; byte === 255; length += byte) byte = block.readUInt8(at++);
    return length;
  };
  for (;;) {
    const token = block.readUInt8(at++);
    const plain = lengthOf(token >> 4);
    written += block.copy(out, written, at, at + plain);
    at += plain;
    if (at >= block.length) return written;
    const distance = block.readUInt16LE(at);
    at += 2;
    const length = lengthOf(token & 15) + 4;
    repeat(out, written, distance, length);
    written += length;
  }
}

/** Writes again what stands `distance` bytes before; the two may overlap, so that a run of one byte is a distance of 1. */
function repeat(bytes: Buffer, at: number, distance: number, length: number): void {
  if (distance < 1 || distance > at || at + length > bytes.length) throw new RangeError('a batch repeats bytes that it does not have');
  if (distance >= length) bytes.copyWithin(at, at - distance, at - distance + length);
  else for (let n = at; n < at + length; n++) bytes[n] = bytes[n - distance]!;
}
