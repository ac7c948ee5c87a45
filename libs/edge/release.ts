/**
 * Gives the memory of bytes back now, where they have it to themselves; they are empty afterwards. Left to the collector, every 64 MB of
 * such garbage would make it go through the whole heap.
 */
export function release({ buffer, byteLength }: Uint8Array): void {
  if (byteLength > 0 && buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
