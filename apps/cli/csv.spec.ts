import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { csvCell, CsvReader } from './csv.js';

function rows(...pieces: string[]): (readonly [number, readonly string[]])[] {
  const reader = new CsvReader();
  const found = [...pieces.flatMap((piece) => [...reader.push(piece)]), ...reader.end()];
  return found.map(({ line, cells }) => [line, cells]);
}

describe('CsvReader', () => {
  it.each([
    ['', []],
    ['a', [[1, ['a']]]],
    [
      'a,b\nc,d\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'a,b\r\nc,d\r\n',
      [
        [1, ['a', 'b']],
        [2, ['c', 'd']],
      ],
    ],
    [
      'a,b\n\n\r\nc,d',
      [
        [1, ['a', 'b']],
        [4, ['c', 'd']],
      ],
    ],
    [
      'a,,\n,',
      [
        [1, ['a', '', '']],
        [2, ['', '']],
      ],
    ],
    [' a ,b', [[1, [' a ', 'b']]]],
    ['"a,b",c', [[1, ['a,b', 'c']]]],
    ['"a ""b""","",""""', [[1, ['a "b"', '', '"']]]],
    [
      '"a\nb",c\r\nd,e',
      [
        [1, ['a\nb', 'c']],
        [3, ['d', 'e']],
      ],
    ],
    [
      '"a\r\n\r\nb"\nc',
      [
        [1, ['a\r\n\r\nb']],
        [4, ['c']],
      ],
    ],
  ])('%j is %j', (text, expected) => {
    expect(rows(text)).toEqual(expected);
    expect(rows(...text.split(''))).toEqual(expected);
  });

  it.each(['ok\na"b', 'ok\n"a"b', 'ok\n"a" ,b', 'ok\n"a,b', 'ok\n"""'])('%j has a misplaced quote in line 2', (text) => {
    expect(() => rows(text)).toThrow('Line 2: a quote is misplaced');
  });

  it('gives up on a quote that nobody closes', () => {
    expect(() => rows('a,b\n"', ...Array.from({ length: 40 }, () => 'x,\n'.repeat(10_000)))).toThrow('Line 2: the row does not end');
  });

  it('gives back any cells, cut into any pieces', () => {
    const cells = fc.array(
      fc.array(fc.string({ unit: fc.constantFrom('a', ' ', '"', ',', '\n', '\r', 'é') }), { minLength: 2, maxLength: 3 }),
    );
    fc.assert(
      fc.property(cells, fc.integer({ min: 1, max: 5 }), (table, size) => {
        const text = table.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');
        const pieces = text.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        expect(rows(...pieces).map(([, row]) => row)).toEqual(table);
      }),
    );
  });
});
