import { describe, expect, it } from '@jest/globals';
import { Lines } from './lines.js';
import { symbolsText } from './series-names.js';

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
  for (const symbols of rows) lines.point(table, Buffer.from(symbols), newlines, 1);
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
    lines.point(table, symbols, value, timestampMs);
    expect(lines.bytes.toString('latin1')).toBe(`t,a=b value=${double(value + 0)} ${digits}\n`);
    expect(lines.rows).toBe(1);
  });

  it('write a bucket', () => {
    const lines = new Lines(1);
    lines.bucket(table, symbols, { startMs: 60_000, min: -1, max: 2, sum: 3.5, count: 12 });
    const fields = ` min=${double(-1)},max=${double(2)},sum=${double(3.5)},count=12i 60000\n`;
    expect(lines.bytes.toString('latin1')).toBe(`t,a=b${fields}`);
  });

  it.each<[what: string, before: (lines: Lines) => void]>([
    ['after a row of the same series', (lines) => lines.point(table, symbols, 0, 0)],
    ['after a row of another series', (lines) => lines.point(table, Buffer.from(',a=c'), 0, 0)],
    ['after a row of another table', (lines) => lines.point(Buffer.from('u'), symbols, 0, 0)],
    ['after a bucket of the same series', (lines) => lines.bucket(table, symbols, { startMs: 0, min: 1, max: 1, sum: 1, count: 1 })],
  ])('write the same row %s, also once they were cleared', (_, before) => {
    const lines = new Lines(1);
    for (const round of ['first', 'second']) {
      before(lines);
      const { length } = lines;
      lines.point(table, symbols, 1, 2);
      expect([round, lines.bytes.toString('latin1', length)]).toEqual([round, `t,a=b value=${double(1)} 2\n`]);
      lines.clear();
      lines.point(table, symbols, 1, 2);
      expect(lines.bytes.toString('latin1')).toBe(`t,a=b value=${double(1)} 2\n`);
      lines.clear();
    }
  });

  it('grow, one after the other', () => {
    const [first, second] = [new Lines(8), new Lines(8)];
    const one = symbols.length + table.length + ' value==\x1012345678 1\n'.length;
    for (let at = 0; at < 1000; at++) first.point(table, symbols, at, at);
    second.point(table, symbols, -1, 1);
    second.append(first);
    expect(second.rows).toBe(1001);
    expect(second.bytes.toString('latin1').match(/t,a=b value==/g)).toHaveLength(1001);
    expect(second.bytes.subarray(one)).toEqual(first.bytes);
  });
});
