import { describe, expect, it } from '@jest/globals';
import { lz4Decompress, snappyDecompress } from './compression.js';

const bytesOf = (base64: string): Buffer => Buffer.from(base64, 'base64');
const javaSnappy = bytesOf(
  'glNOQVBQWQAAAAABAAAAAQAAAFyMApCUBAAAAAGGBHJlYWRpbmcgMCBvZiB0aGUgYm9pbGVyIGlzIDkgER0AMUodABkeADJOHgAZHwAzUh8AGSAANFYgABkhADVaIQAZIgA2XiIAGSMAN2IjAAQ5AA==',
);
const librdkafkaSnappy = bytesOf(
  'jAKQlAQAAAABhgRyZWFkaW5nIDAgb2YgdGhlIGJvaWxlciBpcyA5IBEdADFKHQAZHgAyTh4AGR8AM1IfABkgADRWIAAZIQA1WiEAGSIANl4iABkjADdiIwAEOQA=',
);
/** Java's and librdkafka's are the same. */
const lz4 = bytesOf(
  'BCJNGGBAgmQAAAD0FpQEAAAAAYYEcmVhZGluZyAwIG9mIHRoZSBib2lsZXIgaXMgOSAdAB8xHQAABh4AHzIeAAEGHwAfMx8AAgYgAB80IAADBiEAHzUhAAQGIgAfNiIABQYjAB83IwADUDk5OTkAAAAAAA==',
);

/** The records of a batch with one record of this value. */
const value = Array.from({ length: 8 }, (_, n) => `reading ${n} of the boiler is ${'9'.repeat(1 + n)}`).join(' ');
const records = Buffer.concat([Buffer.from([0x94, 4, 0, 0, 0, 1, 0x86, 4]), Buffer.from(value), Buffer.from([0])]);
const u32 = (n: number): Buffer => Buffer.from([n & 255, (n >> 8) & 255, (n >> 16) & 255, n >>> 24]);
const [lz4Head, lz4Block, lz4End] = [lz4.subarray(0, 7), lz4.subarray(7, -4), lz4.subarray(-4)];

describe('Snappy', () => {
  it.each([
    ['as Java writes it', javaSnappy, 1],
    ['as librdkafka writes it', librdkafkaSnappy, 1],
    ['as Java writes it, in two blocks', Buffer.concat([javaSnappy, javaSnappy.subarray(16)]), 2],
    ['of nothing', Buffer.from([0]), 0],
  ])('%s', (_, bytes, times) => {
    expect(snappyDecompress(bytes)).toEqual(Buffer.concat(Array<Buffer>(times).fill(records)));
  });

  it.each([
    ['a long literal', [6, 60 << 2, 5, 97, 98, 99, 100, 101, 102], 'abcdef'],
    ['a literal longer than 60, its length in two bytes', [70, 61 << 2, 69, 0, ...Array<number>(70).fill(97)], 'a'.repeat(70)],
    ['a repeat of one byte', [9, 0, 97, (7 << 2) | 2, 1, 0], 'a'.repeat(9)],
    ['a repeat with a distance of four bytes', [4, 1 << 2, 97, 98, (1 << 2) | 3, 2, 0, 0, 0], 'abab'],
  ])('has %s', (_, bytes, text) => {
    expect(snappyDecompress(Buffer.from(bytes)).toString()).toBe(text);
  });

  it.each([
    ['cut off', librdkafkaSnappy.subarray(0, 60)],
    ['cut off in its last bytes', librdkafkaSnappy.subarray(0, -1)],
    ['a repeat from before the beginning', Buffer.from([4, 0, 97, 2, 9, 0])],
    ['a repeat beyond the end', Buffer.from([2, 0, 97, (7 << 2) | 2, 1, 0])],
    ['nothing at all', Buffer.alloc(0)],
  ])('that is damaged is refused: %s', (_, bytes) => {
    expect(() => snappyDecompress(bytes)).toThrow(/a batch (is cut off|repeats bytes)|outside buffer bounds|out of range/);
  });
});

describe('LZ4', () => {
  it.each([
    ['as both write it', lz4, records],
    ['of two blocks', Buffer.concat([lz4Head, lz4Block, lz4Block, lz4End]), Buffer.concat([records, records])],
    ['with a block that is not compressed', Buffer.concat([lz4Head, u32(0x80000003), Buffer.from('abc'), lz4End]), Buffer.from('abc')],
    [
      'with a block that repeats the one before',
      Buffer.concat([lz4Head, u32(0x80000003), Buffer.from('abc'), u32(4), Buffer.from([2, 3, 0, 0]), lz4End]),
      Buffer.from('abcabcabc'),
    ],
    [
      'with its length and checksums of blocks',
      Buffer.concat([lz4.subarray(0, 4), Buffer.from([0x78, 0x40]), Buffer.alloc(9), lz4Block, Buffer.alloc(4), lz4End]),
      records,
    ],
    ['of nothing', Buffer.concat([lz4Head, lz4End]), Buffer.alloc(0)],
  ])('%s', (_, bytes, expected) => {
    expect(lz4Decompress(bytes)).toEqual(expected);
  });

  it.each([
    ['cut off', lz4.subarray(0, 40)],
    ['a repeat from before the beginning', Buffer.concat([lz4Head, u32(4), Buffer.from([0x02, 3, 0, 0]), lz4End])],
    ['nothing at all', Buffer.alloc(0)],
  ])('that is damaged is refused: %s', (_, bytes) => {
    expect(() => lz4Decompress(bytes)).toThrow(/a batch (is cut off|repeats bytes)|outside buffer bounds|out of range/);
  });
});
