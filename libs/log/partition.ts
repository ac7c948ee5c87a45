const seed = 0x9747b28c;
const multiplier = 0x5bd1e995;

/** Murmur2 as Kafka's clients compute it over the bytes of a key, which are the first `length`; a signed 32-bit integer. */
export function murmur2(bytes: Uint8Array, length = bytes.length): number {
  let hash = seed ^ length;
  const whole = length & ~3;
  for (let at = 0; at < whole; at += 4) {
    const word = bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    hash = Math.imul(hash, multiplier) ^ scramble(word);
  }
  if (whole < length) {
    for (let at = length - 1; at >= whole; at--) hash ^= bytes[at]! << (8 * (at - whole));
    hash = Math.imul(hash, multiplier);
  }
  hash = Math.imul(hash ^ (hash >>> 13), multiplier);
  return hash ^ (hash >>> 15);
}

function scramble(word: number): number {
  const product = Math.imul(word, multiplier);
  return Math.imul(product ^ (product >>> 24), multiplier);
}

/**
 * The partition of a key, as Kafka's default partitioner chooses it, so that every client puts a key in the same one.
 * @param length of the key, where more bytes stand behind it.
 */
export function partitionOf(key: Uint8Array, partitions: number, length = key.length): number {
  return (murmur2(key, length) & 0x7fffffff) % partitions;
}
