import { constants, zstdCompressSync } from 'node:zlib';

/** Node cuts smaller buffers out of one that others use too, whose memory must not be freed. */
const leastOwnBytes = Buffer.poolSize / 2;
/**
 * The quickest level, which by itself looks for equal stretches of seven bytes or more. Among numbers most are shorter: with five the log takes as much as at level 3,
 * for two thirds of the time.
 */
const params = { [constants.ZSTD_c_compressionLevel]: 1, [constants.ZSTD_c_minMatch]: 5 };
/** At most so many bytes does zstd add to bytes that it cannot compress. */
const mostAdded = (bytes: number): number => 1024 + bytes / 128;

/**
 * Compresses with zstd, and frees the compressed bytes once `use` has returned: V8 would let up to 64 MB of unused buffers gather in each thread first.
 *
 * @param use must keep no view of the compressed bytes.
 */
export function pack(bytes: Uint8Array, use: (packed: Uint8Array) => void): void {
  const chunkSize = Math.ceil(Math.max(bytes.length + mostAdded(bytes.length), leastOwnBytes));
  const packed = zstdCompressSync(bytes, { params, chunkSize });
  use(packed);
  packed.buffer.transfer(0);
}
