/** For each byte, alone and followed by up to three zeros, so that four bytes are taken at a time. */
const tables = makeTables();

/** CRC-32 as of gzip. */
export function crc32(bytes: Uint8Array): number {
  const [t0, t1, t2, t3] = tables;
  let crc = -1;
  let at = 0;
  for (const end = bytes.length - 3; at < end; at += 4) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc = t3[crc & 0xff]! ^ t2[(crc >>> 8) & 0xff]! ^ t1[(crc >>> 16) & 0xff]! ^ t0[crc >>> 24]!;
  }
  for (; at < bytes.length; at++) crc = (crc >>> 8) ^ t0[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}

function makeTables(): readonly [Uint32Array, Uint32Array, Uint32Array, Uint32Array] {
  const first = Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >>> 1) ^ 0xedb88320 : crc >>> 1;
    return crc;
  });
  const next = (table: Uint32Array): Uint32Array => table.map((crc) => (crc >>> 8) ^ first[crc & 0xff]!);
  const second = next(first);
  const third = next(second);
  return [first, second, third, next(third)];
}
