import { describe, expect, it } from '@jest/globals';
import { KnownRows } from './known-rows.js';

const maxOpen = 64;

/** What the database says of one window after another; null stands for an answer that breaks off after the first source. */
function knownRows(...answers: readonly (readonly string[] | null)[]): { readonly known: KnownRows; readonly asked: () => number } {
  let asked = 0;
  const sourcesWithRow = async (_: number, take: (source: string) => void): Promise<void> => {
    const answer = answers[asked++]!;
    for (const source of answer ?? ['a']) take(source);
    if (!answer) throw new Error('no answer');
  };
  return { known: new KnownRows({ sourcesWithRow, maxOpen }), asked: () => asked };
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

  it('may be any after a question without a whole answer, which is not asked again with each batch', async () => {
    const { known, asked } = knownRows(null, []);
    for (let batch = 0; batch < 10; batch++) await known.load(0);
    expect([known.mayHave(0, 'a'), known.mayHave(0, 'b'), asked()]).toEqual([true, true, 1]);
  });

  it('are forgotten when many later windows were asked for', async () => {
    const windows = maxOpen + 1;
    const { known } = knownRows(...Array.from({ length: windows }, () => []));
    for (let at = 0; at < windows; at++) await known.load(at);
    expect([known.mayHave(0, 'a'), known.mayHave(1, 'a')]).toEqual([true, false]);
  });

  it('take about eight bytes for each source, however often it is told, and are counted as memory', async () => {
    const names = Array.from({ length: 50_000 }, (_, at) => `organization\0device-${at}`);
    const { known } = knownRows([...names, ...names], names, ...Array.from({ length: maxOpen }, () => []));
    await known.load(0);
    await known.load(1);
    for (const name of names) known.add(0, name);
    expect(names.filter((name) => !known.mayHave(0, name))).toEqual([]);
    expect(names.filter((name) => known.mayHave(0, `${name} of others`)).length).toBeLessThan(names.length / 50);
    expect(known.bytes).toBeLessThanOrEqual(2 * 8 * names.length);
    expect(known.bytes).toBeGreaterThan(2 * 7.9 * names.length);
    for (let at = 2; at < maxOpen + 2; at++) await known.load(at);
    expect(known.bytes).toBe(0);
  });
});
