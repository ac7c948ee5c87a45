import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Offsets } from './offsets.js';

/** So many offsets come, each one or two above the last, and then the first ones go. */
const turns = fc.array(
  fc.tuple(fc.array(fc.integer({ min: 1, max: 2 }), { maxLength: 300 }), fc.double({ min: 0, max: 1.1, noNaN: true })),
  {
    maxLength: 12,
  },
);

describe('a queue of offsets', () => {
  it('has what a list has', () => {
    fc.assert(
      fc.property(turns, (all) => {
        const offsets = new Offsets();
        let [list, last] = [[] as number[], 0];
        for (const [steps, share] of all) {
          for (const step of steps) {
            offsets.push((last += step));
            list.push(last);
          }
          expect([offsets.length, offsets.first]).toEqual([list.length, list[0] ?? Infinity]);
          const before = Math.floor(share * last);
          offsets.dropBefore(before);
          list = list.filter((offset) => offset >= before);
          expect([offsets.length, offsets.first]).toEqual([list.length, list[0] ?? Infinity]);
        }
      }),
    );
  });

  it('goes on after a hundred thousand', () => {
    const offsets = new Offsets();
    for (let round = 0; round < 2; round++) {
      for (let at = 1; at <= 100_000; at++) offsets.push(round * 100_000 + at);
      expect([offsets.length, offsets.first]).toEqual([100_000, round * 100_000 + 1]);
      offsets.dropBefore(Infinity);
      expect([offsets.length, offsets.first]).toEqual([0, Infinity]);
    }
  });
});
