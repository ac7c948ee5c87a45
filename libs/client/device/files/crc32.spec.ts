import { crc32 as known } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { Random } from '#testing';
import { crc32 } from './crc32.js';

it('is the checksum that zlib makes', () => {
  const random = new Random(1);
  for (let length = 0; length < 100; length++) {
    const bytes = Uint8Array.from({ length }, () => random.whole(0, 255));
    expect(crc32(bytes)).toBe(known(bytes));
  }
});
