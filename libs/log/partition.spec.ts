import { describe, expect, it } from '@jest/globals';
import { murmur2, partitionOf } from './partition.js';

describe('murmur2', () => {
  it.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('of %s is what the Java client computes', (text, expected) => {
    expect(murmur2(Buffer.from(text))).toBe(expected);
  });

  it('puts a key in one of the partitions, whatever the sign of its hash', () => {
    const chosen = Array.from({ length: 1000 }, (_, n) => partitionOf(Buffer.from(`org/source-${n}`), 24));
    expect(new Set(chosen)).toEqual(new Set(Array.from({ length: 24 }, (_, n) => n)));
    expect(partitionOf(Buffer.from('21'), 24)).toBe((-973932308 & 0x7fffffff) % 24);
  });
});
