import { repeat } from './repeat.js';

const frameBytes = 6;
const checksumBytes = 4;
const flags = { blockChecksums: 0x10, contentSize: 0x08, dictionary: 0x01 };

/** Node has no LZ4: one frame of it. The batch has a checksum of its own, so those inside are left alone. @throws RangeError when it is none. */
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
    written = size > 0x7fffffff ? written + block.copy(out, written) : unpack(block, out, written);
    at += 4 + block.length + (has(flags.blockChecksums) ? checksumBytes : 0);
  }
}

/** Pairs of bytes as they are and of bytes repeated, which may stand in an earlier block; the last pair has none of the latter. */
function unpack(block: Buffer, out: Buffer, from: number): number {
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
