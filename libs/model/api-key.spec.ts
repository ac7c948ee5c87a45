import { randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { formatKey, isWellFormedKey, keyDisplay, keyRandomBytes } from './api-key.js';

const key = formatKey(randomBytes(keyRandomBytes));

describe('an API key', () => {
  it('is hw_, 32 random base62 characters and 6 of checksum', () => {
    expect(formatKey(new Uint8Array(32))).toBe(`hw_${'0'.repeat(32)}${base62(crc32(`hw_${'0'.repeat(32)}`))}`);
    expect(formatKey(Uint8Array.from({ length: 32 }, (_, at) => at + 30))).toMatch(/^hw_UVWXYZabcdefghijklmnopqrstuvwxyz/);
    expect(key).toMatch(/^hw_[0-9A-Za-z]{38}$/);
  });

  it('has a checksum that others can compute: CRC-32 of what stands before it', () => {
    expect(key.slice(-6)).toBe(base62(crc32(key.slice(0, -6))));
  });

  it('takes each character from equally many bytes, and throws the others away', () => {
    const counts = new Map<string, number>();
    for (let byte = 0; byte < 248; byte++) {
      const character = formatKey(new Uint8Array(32).fill(byte))[3]!;
      counts.set(character, (counts.get(character) ?? 0) + 1);
    }
    expect([...counts.values()]).toEqual(Array(62).fill(4));
    for (let byte = 248; byte < 256; byte++) expect(formatKey(Uint8Array.of(byte, ...Array(32).fill(1)))[3]).toBe('1');
  });

  it('needs enough random bytes', () => {
    expect(() => formatKey(new Uint8Array(31))).toThrow(RangeError);
    expect(() => formatKey(new Uint8Array(64).fill(255))).toThrow(RangeError);
  });

  it('is well formed', () => {
    expect(isWellFormedKey(key)).toBe(true);
  });

  it('is not well formed once any character has changed', () => {
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(isWellFormedKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
  });

  it.each(['', 'hw_', key.slice(1), key.slice(0, -1), `${key}0`, `${key}\n`, ` ${key}`, key.toUpperCase(), 'é'.repeat(41)])(
    '%j is not well formed',
    (text) => {
      expect(isWellFormedKey(text)).toBe(false);
    },
  );

  it('shows its first 8 and last 4 characters', () => {
    expect(keyDisplay('hw_abcdefghijWXYZ')).toEqual({ prefix: 'hw_abcde', suffix: 'WXYZ' });
  });
});

function base62(crc: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
  return [5, 4, 3, 2, 1, 0].map((power) => digits[Math.floor(crc / 62 ** power) % 62]).join('');
}
