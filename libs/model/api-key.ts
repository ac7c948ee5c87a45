import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const keyPrefix = 'hw_';
const randomLength = 32;
const checksumLength = 6;
const pattern = new RegExp(`^${keyPrefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** Random bytes that `formatKey` needs: twice as many as it keeps, because it discards some so that all characters are equally likely. */
export const keyRandomBytes = 2 * randomLength;

/**
 * An API key: `hw_`, 32 random base62 characters, 6 of checksum.
 *
 * @throws RangeError when `random` is too short; with `keyRandomBytes` good bytes that does not happen.
 */
export function formatKey(random: Uint8Array): string {
  const unbiased = [...random].filter((byte) => byte < 4 * alphabet.length).slice(0, randomLength);
  if (unbiased.length < randomLength) throw new RangeError(`${random.length} random bytes are too few for a key`);
  const text = keyPrefix + unbiased.map((byte) => alphabet[byte % alphabet.length]).join('');
  return text + checksum(text);
}

/** True for text that `formatKey` may have made; anything else can be refused without a look-up. */
export function isWellFormedKey(text: string): boolean {
  return pattern.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength);
}

/** The parts of a key that are kept for display. */
export function keyDisplay(key: string): { readonly prefix: string; readonly suffix: string } {
  return { prefix: key.slice(0, 8), suffix: key.slice(-4) };
}

function checksum(text: string): string {
  let digits = '';
  for (let rest = crc32(text); digits.length < checksumLength; rest = Math.floor(rest / alphabet.length)) {
    digits = alphabet[rest % alphabet.length] + digits;
  }
  return digits;
}
