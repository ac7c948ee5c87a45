import { describe, expect, it } from '@jest/globals';
import { KnownRows } from './known-rows.js';

const maxOpen = 64;

/** Answers after another; true stands for no answer. */
function knownRows(...answers: readonly (readonly string[] | true)[]): { readonly known: KnownRows; readonly asked: () => number } {
  let asked = 0;
  const keysWithRow = (): Promise<readonly string[]> => {
    const answer = answers[asked++]!;
    return answer === true ? Promise.reject(new Error('no answer')) : Promise.resolve(answer);
  };
  return { known: new KnownRows({ keysWithRow, maxOpen }), asked: () => asked };
}

describe('Rows that the store has of a window', () => {
  it('are asked for once', async () => {
    const { known, asked } = knownRows(['a']);
    expect(known.mayHave(0, 'b')).toBe(true);
    await known.load(0);
    await known.load(0);
    expect([known.mayHave(0, 'a'), known.mayHave(0, 'b'), asked()]).toEqual([true, false, 1]);
    known.add(0, 'b');
    expect(known.mayHave(0, 'b')).toBe(true);
  });

  it('may be any after a question without an answer, which is not asked again with each batch', async () => {
    const { known, asked } = knownRows(true, []);
    for (let batch = 0; batch < 10; batch++) await known.load(0);
    expect([known.mayHave(0, 'a'), asked()]).toEqual([true, 1]);
  });

  it('are forgotten when many later windows were asked for', async () => {
    const windows = maxOpen + 1;
    const { known } = knownRows(...Array.from({ length: windows }, () => []));
    for (let at = 0; at < windows; at++) await known.load(at);
    expect([known.mayHave(0, 'a'), known.mayHave(1, 'a')]).toEqual([true, false]);
  });
});
