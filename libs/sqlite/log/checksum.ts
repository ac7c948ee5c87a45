import { crc32 } from 'node:zlib';

const numbers = new Float64Array(8);
const numberBytes = Buffer.from(numbers.buffer);

/** CRC-32 over the numbers of a row and its body, so that no column can change unseen. */
export function rowChecksum(body: Uint8Array | string, ...columns: readonly number[]): number {
  numbers.set(columns);
  return crc32(body, crc32(numberBytes.subarray(0, 8 * columns.length)));
}
