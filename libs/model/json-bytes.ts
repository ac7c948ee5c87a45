/** Characters that JSON is made of, as bytes. */

export const quote = 0x22;
export const colon = 0x3a;
export const openBracket = 0x5b;
export const closeBracket = 0x5d;
export const openBrace = 0x7b;
export const closeBrace = 0x7d;
export const comma = 0x2c;
export const backslash = 0x5c;

export const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39;

/** Compares `length` bytes from `start` on with as many others from `from` on. Returns where they end; -1 when they differ, or would end behind `limit`. */
export function behindSame(bytes: DataView, start: number, others: DataView, from: number, length: number, limit: number): number {
  const end = start + length;
  // `limit` could be `bytes.byteLength`, but that is a function call even in compiled code.
  if (end > limit) return -1;
  const shift = from - start;
  let at = start;
  // Eight bytes are compared at a time, as a double. The last eight bytes may overlap those before them. Doubles are equal only where their bytes are, but for the two
  // zeros, and text has no zero bytes; and no eight bytes of UTF-8 are NaN, which equals nothing. The double is read as little-endian, the order of most
  // processors: the other order costs an instruction more for each.
  if (length >= 8)
    for (const last = end - 8; ; at = Math.min(at + 8, last)) {
      if (bytes.getFloat64(at, true) !== others.getFloat64(at + shift, true)) return -1;
      if (at === last) return end;
    }
  for (; at < end; at++) if (bytes.getInt8(at) !== others.getInt8(at + shift)) return -1;
  return end;
}

/** Where the string that begins at `start` has its closing quote; beyond the end when it has none. */
export function stringEnd(bytes: Uint8Array, start: number): number {
  let at = start + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}
