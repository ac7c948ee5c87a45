/** Writes again what stands `distance` bytes before; the two may overlap, so that a run of one byte is a distance of 1. */
export function repeat(bytes: Buffer, at: number, distance: number, length: number): void {
  if (distance < 1 || distance > at || at + length > bytes.length) throw new RangeError('a batch repeats bytes that it does not have');
  if (distance >= length) bytes.copyWithin(at, at - distance, at - distance + length);
  else for (let n = at; n < at + length; n++) bytes[n] = bytes[n - distance]!;
}
