import { constants, zstdCompressSync } from 'node:zlib';

/** Node cuts smaller buffers out of one that others use too, whose memory must not be freed. */
const leastOwnBytes = Buffer.poolSize / 2;
/** At most so many bytes does zstd add to bytes that it cannot compress. */
const mostAdded = (bytes: number): number => 1024 + bytes / 128;

/**
 * Compresses with zstd, and frees the compressed bytes once `use` has returned: V8 would let up to 64 MB of unused buffers gather in each thread first.
 *
 * @param level of zstd.
 * @param use must keep no view of the compressed bytes.
 */
export function pack(bytes: Uint8Array, level: number, use: (packed: Uint8Array) => void): void {
  const chunkSize = Math.ceil(Math.max(bytes.length + mostAdded(bytes.length), leastOwnBytes));
  const packed = zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: level }, chunkSize });
  use(packed);
  packed.buffer.transfer(0);
}
