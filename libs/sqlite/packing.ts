import { constants, zstdCompressSync } from 'node:zlib';

/** Smaller buffers would be cut from one that Node shares among many. */
const leastOwnBytes = Buffer.poolSize / 2;
/** What zstd may add to bytes that it cannot compress. */
const mostAdded = (bytes: number): number => 1024 + bytes / 128;

/**
 * Compresses with zstd, and gives the memory of the result back once `use` has returned. Left to the collector, each thread would gather up to 64 MB of
 * such garbage before it begins to collect.
 */
export function pack(bytes: Uint8Array, level: number, use: (packed: Uint8Array) => void): void {
  const chunkSize = Math.ceil(Math.max(bytes.length + mostAdded(bytes.length), leastOwnBytes));
  const packed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level }, chunkSize });
  use(packed);
  packed.buffer.transfer(0);
}
