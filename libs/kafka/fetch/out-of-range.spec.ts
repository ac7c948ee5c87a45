import { describe, expect, it } from '@jest/globals';
import type { Extent } from '../asker.js';
import { OutOfRange } from './out-of-range.js';

const gone = { is: 'gone', low: 15 };
const ended = { is: 'ended' };

/** What is missing of a partition, whose extents are told one after the other, each time that a broker does not have an offset. */
async function missing(told: readonly (Extent | undefined)[], offsets: readonly number[]): Promise<unknown[]> {
  const answers = [...told];
  const subject = new OutOfRange(async () => answers.shift());
  const seen: unknown[] = [];
  for (const offset of offsets) seen.push(await subject.missing(offset));
  return seen;
}

describe('a broker that does not have offset 10', () => {
  it.each<[string, readonly (Extent | undefined)[], unknown[]]>([
    ['has deleted the records before 15', [{ low: 15, high: 20 }], [gone]],
    ['has deleted all of them', [{ low: 15, high: 15 }], [gone]],
    [
      'ends before it, which is believed the second time',
      [
        { low: 0, high: 9 },
        { low: 0, high: 9 },
      ],
      [undefined, ended],
    ],
    [
      'ends at it, which is where the next record comes',
      [
        { low: 0, high: 10 },
        { low: 0, high: 10 },
      ],
      [undefined, undefined],
    ],
    [
      'ended before it for a moment only',
      [
        { low: 0, high: 9 },
        { low: 0, high: 12 },
        { low: 0, high: 9 },
      ],
      [undefined, undefined, undefined],
    ],
    ['does not have the partition now', [undefined], [undefined]],
  ])('%s', async (_, told, seen) => {
    expect(
      await missing(
        told,
        told.map(() => 10),
      ),
    ).toEqual(seen);
  });

  it('is asked anew after it had what was wanted', async () => {
    const subject = new OutOfRange(async () => ({ low: 0, high: 9 }));
    await subject.missing(10);
    subject.forget();
    expect([await subject.missing(10), await subject.missing(11), await subject.missing(11)]).toEqual([undefined, undefined, ended]);
  });
});
