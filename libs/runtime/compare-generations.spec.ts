import { describe, expect, it } from '@jest/globals';
import type { Compared } from '#stores';
import { compareGenerations } from './compare-generations.js';

/** A row at a time: what the other generation says at the first look, the second, the third; the last for ever. The right one says 0. */
type Row = readonly number[];

function looksAt(rows: readonly Row[]): { readonly found: ReturnType<typeof compareGenerations>; readonly looks: () => number } {
  let look = 0;
  async function* compare(at?: { readonly timestampMs: number }): AsyncGenerator<Compared> {
    for (const [timestampMs, says] of at ? [[at.timestampMs, rows[at.timestampMs]!] as const] : rows.entries()) {
      const value = says[Math.min(look, says.length - 1)]!;
      const point = { what: 'raw', orgId: 'o', sourceId: 's', metric: 'm', timestampMs, key: `${timestampMs}` } as const;
      yield { what: 'raw', timestampMs, difference: value === 0 ? undefined : { ...point, expected: '0', found: `${value}` } };
    }
  }
  const taken = (): Promise<void> => Promise.resolve(void look++);
  return { found: compareGenerations(compare, taken), looks: () => look + 1 };
}

describe('a difference', () => {
  it.each<[string, readonly Row[], number, { differences: number; changing: number }]>([
    ['that is none', [[0], [0]], 1, { differences: 0, changing: 0 }],
    ['that stands still counts', [[0], [7], [0]], 2, { differences: 1, changing: 0 }],
    ['that goes away does not', [[7, 0], [0]], 2, { differences: 0, changing: 0 }],
    ['that becomes another one is looked at again', [[7, 8, 0]], 3, { differences: 0, changing: 0 }],
    ['that becomes another one and stays counts', [[7, 8, 8]], 3, { differences: 1, changing: 0 }],
    ['that is another one at each look is changing', [[7, 8, 9]], 3, { differences: 0, changing: 1 }],
    ['each by itself', [[7], [7, 0], [7, 8, 9], [0, 7]], 3, { differences: 1, changing: 1 }],
  ])('%s', async (_, rows, looks, expected) => {
    const told = looksAt(rows);
    expect(await told.found).toMatchObject({ rows: rows.length, complete: true, ...expected });
    expect(told.looks()).toBe(looks);
  });

  it('is named while there are few, and counted', async () => {
    const { differences, first, complete } = await looksAt(Array.from({ length: 1000 }, () => [7])).found;
    expect([differences, first.length, first[0]?.timestampMs, complete]).toEqual([1000, 100, 0, true]);
  });

  it('is not looked for any more when nearly everything is one', async () => {
    const { differences, rows, complete } = await looksAt(Array.from({ length: 100_010 }, () => [7])).found;
    expect([differences, rows, complete]).toEqual([100_000, 100_000, false]);
  }, 20_000);
});
