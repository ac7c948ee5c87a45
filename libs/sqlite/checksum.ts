import { crc32 } from 'node:zlib';
import { TelemetryError } from '#model';

const numbers = new Float64Array(8);
const numberBytes = Buffer.from(numbers.buffer);

/** CRC-32 over the numbers of a row and its body, so that no column can change unseen. */
export function rowChecksum(body: Uint8Array | string, ...columns: readonly number[]): number {
  numbers.set(columns);
  return crc32(body, crc32(numberBytes.subarray(0, 8 * columns.length)));
}

/** CRC-32 over the columns of a row of the store; a number counts as text. */
export function columnsChecksum(...columns: readonly (string | number | Uint8Array)[]): number {
  let [crc, text] = [0, ''];
  for (const column of columns) {
    if (typeof column === 'object') [crc, text] = [crc32(column, crc32(text, crc)), ''];
    else text += `${column}\0`;
  }
  return text === '' ? crc : crc32(text, crc);
}

/** @throws TelemetryError `store_corrupt` naming the row when its checksum is not `crc`. */
export function checkRow(what: string, crc: number, ...columns: readonly (string | number | Uint8Array)[]): void {
  if (crc !== columnsChecksum(...columns)) throw new TelemetryError('store_corrupt', `The store's row of ${what} is damaged.`);
}
