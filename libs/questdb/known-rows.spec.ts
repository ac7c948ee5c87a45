import { describe, expect, it } from '@jest/globals';
import { KnownRows } from './known-rows.js';
import { levels } from './levels.js';
import { seriesKey } from './series-names.js';
import { tablesOf } from './tables.js';

/** Answers after another; true stands for no answer. */
function knownRows(...answers: readonly (readonly string[] | true)[]): { readonly known: KnownRows; readonly asked: () => number } {
  let asked = 0;
  const rows = (): Promise<never[]> => {
    const answer = answers[asked++]!;
    if (answer === true) return Promise.reject(new Error('no answer'));
    return Promise.resolve(answer.map((source) => ['o', source, 'm'] as never));
  };
  return { known: new KnownRows({ rows } as never, tablesOf(1), levels[0]!), asked: () => asked };
}
const key = (source: string): string => seriesKey('o', source, 'm');

describe('Rows that the store has of a window', () => {
  it('are asked for once', async () => {
    const { known, asked } = knownRows(['a']);
    expect(known.mayHave(0, key('b'))).toBe(true);
    await known.load(0);
    await known.load(0);
    expect([known.mayHave(0, key('a')), known.mayHave(0, key('b')), asked()]).toEqual([true, false, 1]);
    known.add(0, key('b'));
    expect(known.mayHave(0, key('b'))).toBe(true);
  });

  it('may be any after a question without an answer, which is not asked again with each batch', async () => {
    const { known, asked } = knownRows(true, []);
    for (let batch = 0; batch < 10; batch++) await known.load(0);
    expect([known.mayHave(0, key('a')), asked()]).toEqual([true, 1]);
  });

  it('are forgotten when many later windows were asked for', async () => {
    const windows = levels[0]!.mostOpen + 1;
    const { known } = knownRows(...Array.from({ length: windows }, () => []));
    for (let at = 0; at < windows; at++) await known.load(at);
    expect([known.mayHave(0, key('a')), known.mayHave(1, key('a'))]).toEqual([true, false]);
  });
});
