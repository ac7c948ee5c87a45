import { describe, expect, it } from '@jest/globals';
import { columnsOf } from '#testing';
import { Lines } from './lines.js';
import { symbolsText } from './series-names.js';

const newline = '\n'.charCodeAt(0);
const textOf = (lines: Lines): string => Buffer.concat(lines.pieces).toString('latin1');

describe('symbols of a line', () => {
  it.each([
    [{ org: 'o', source: 's', metric: 'm' }, ',org=o,source=s,metric=m'],
    [{ metric: 'a b' }, ',metric=a\\ b'],
    [{ metric: 'a,b=c' }, ',metric=a\\,b\\=c'],
    [{ metric: '\\' }, ',metric=\\\\'],
    [{ metric: 'two\nlines\r' }, ',metric=two\\\nlines\\\r'],
    [{ metric: '"quoted"' }, ',metric="quoted"'],
    [{ metric: '\u{1F600}é' }, ',metric=\u{1F600}é'],
    [{ metric: 'm', tags: '' }, ',metric=m'],
  ])('%j are %j', (symbols, text) => {
    expect(symbolsText(symbols as unknown as Record<string, string>)).toBe(text);
  });
});

it('The symbols of a row of points are found, whatever stands in the rows before it', () => {
  const table = Buffer.from('t');
  const lines = new Lines(8);
  // The bytes of this value are eight ends of lines.
  const newlines = Buffer.alloc(8, '\n').readDoubleLE();
  const rows = ['m', 'a b', 'two\nlines', '\\', '\u{1F600}é'].map((metric) => symbolsText({ metric }));
  for (const symbols of rows) lines.points(table, Buffer.from(symbols), columnsOf([1, newlines]));
  expect(rows.map((_, row) => lines.symbolsOfPoint(table, row))).toEqual(rows);
});

describe('Lines', () => {
  const table = Buffer.from('t');
  const symbols = Buffer.from(',a=b');
  const double = (value: number): string => {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    return `=\x10${bytes.toString('latin1')}`;
  };

  it.each([
    [1.5, 0, '0'],
    [-0, 9, '9'],
    [Number.MAX_VALUE, 10, '10'],
    [2, 999_999, '999999'],
    [2, 1_000_000, '1000000'],
    [2, 1_000_000_000_009, '1000000000009'],
    [5e-324, 1_700_000_000_123, '1700000000123'],
    [-1 / 3, 253_402_300_799_999, '253402300799999'],
  ])('write a point of %d at %d', (value, timestampMs, digits) => {
    const lines = new Lines(1);
    lines.points(table, symbols, columnsOf([timestampMs, value]));
    expect(textOf(lines)).toBe(`t,a=b value=${double(value + 0)} ${digits}\n`);
    expect(lines.rows).toBe(1);
  });

  it('write a bucket', () => {
    const lines = new Lines(1);
    lines.bucket(table, symbols, { startMs: 60_000, min: -1, max: 2, sum: 3.5, count: 12 });
    const fields = ` min=${double(-1)},max=${double(2)},sum=${double(3.5)},count=12i 60000\n`;
    expect(textOf(lines)).toBe(`t,a=b${fields}`);
  });

  it.each<[what: string, before: (lines: Lines) => void]>([
    ['after a row of the same series', (lines) => lines.points(table, symbols, columnsOf([0, 0]))],
    ['after a row of another series', (lines) => lines.points(table, Buffer.from(',a=c'), columnsOf([0, 0]))],
    ['after a row of another table', (lines) => lines.points(Buffer.from('u'), symbols, columnsOf([0, 0]))],
    ['after a bucket of the same series', (lines) => lines.bucket(table, symbols, { startMs: 0, min: 1, max: 1, sum: 1, count: 1 })],
  ])('write the same row %s, also once they were cleared', (_, before) => {
    const lines = new Lines(1);
    for (const round of ['first', 'second']) {
      before(lines);
      const { length } = lines;
      lines.points(table, symbols, columnsOf([2, 1]));
      expect([round, textOf(lines).slice(length)]).toEqual([round, `t,a=b value=${double(1)} 2\n`]);
      lines.clear();
      lines.points(table, symbols, columnsOf([2, 1]));
      expect(textOf(lines)).toBe(`t,a=b value=${double(1)} 2\n`);
      lines.clear();
    }
  });

  it.each([1, 300, 1 << 17])(
    'are pieces of whole rows that begin with %d bytes, one behind the other, and again once they were cleared',
    (firstBytes) => {
      const long = Buffer.from(`,a=${'x'.repeat(200_000)}`);
      const row = (its: Buffer, at: number): string => `t${its.toString()} value=${double(at)} ${at}\n`;
      const rows = (its: Buffer, from: number, to: number): string =>
        Array.from({ length: to - from }, (_, at) => row(its, from + at)).join('');
      const lines = new Lines(firstBytes);
      for (const count of [10, 20_000, 20_000, 3]) {
        const run = columnsOf(...Array.from({ length: count }, (_, at) => [at, at] as const));
        lines.clear();
        lines.points(table, symbols, run, 0, 2);
        lines.points(table, long, run, 1, 3);
        lines.points(table, symbols, run, 2);
        const all = new Lines(8);
        all.append(lines);
        all.append(lines);
        const expected = rows(symbols, 0, 2) + rows(long, 1, 3) + rows(symbols, 2, count);
        expect(lines.pieces.filter((piece) => piece.at(-1) !== newline || piece.length > Math.max(1 << 17, long.length + 40))).toEqual([]);
        expect([lines.rows, lines.length, textOf(lines) === expected]).toEqual([count + 2, expected.length, true]);
        expect([all.rows, all.length, textOf(all) === expected + expected]).toEqual([2 * count + 4, 2 * expected.length, true]);
      }
    },
  );
});
