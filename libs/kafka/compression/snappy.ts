import { repeat } from './repeat.js';

/** With this Java's clients begin; two version numbers follow, and then blocks that have their length in front. Others write one block. */
const javaMark = Buffer.from('\x82SNAPPY\0', 'latin1');
const versionsBytes = 8;

/** Node has no Snappy. @throws RangeError when the bytes are none. */
export function snappyDecompress(bytes: Buffer): Buffer {
  if (!bytes.subarray(0, javaMark.length).equals(javaMark)) return block(bytes);
  const blocks: Buffer[] = [];
  for (let at = javaMark.length + versionsBytes; at < bytes.length;) {
    const end = at + 4 + bytes.readInt32BE(at);
    blocks.push(block(bytes.subarray(at + 4, end)));
    at = end;
  }
  return Buffer.concat(blocks);
}

/** The length, then elements whose last two bits say what they are: bytes as they are, or one of three ways to repeat earlier ones. */
function block(bytes: Buffer): Buffer {
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
