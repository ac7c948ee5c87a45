import { randomBytes } from 'node:crypto';
import { zstdDecompressSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { pack } from './packing.js';

describe('packed bytes', () => {
  it.each([
    ['none', 0],
    ['few', 100],
    ['as many as a block of the store', 24_000],
    ['as many as a block of the log', 1 << 20],
  ])('are what they were, and gone once they were used: %s', (_, length) => {
    for (const bytes of [Buffer.alloc(length, 'telemetry '), randomBytes(length)]) {
      const seen: Uint8Array[] = [];
      pack(bytes, (packed) => {
        expect(zstdDecompressSync(packed).equals(bytes)).toBe(true);
        seen.push(packed);
      });
      expect(seen.map(({ length: left }) => left)).toEqual([0]);
    }
  });
});
