import { describe, expect, it } from '@jest/globals';
import { isHeader, readColumns } from './columns.js';

const first = (text: string): { line: number; cells: string[] } => ({ line: 1, cells: text.split(',') });

describe('columns', () => {
  it.each([
    ['timestamp,value', [], undefined, 0, { value: 1 }],
    ['timestamp,value', ['rpm'], undefined, 0, { rpm: 1 }],
    ['timestamp,rpm,oil', [], undefined, 0, { rpm: 1, oil: 2 }],
    ['timestamp,rpm,oil', ['oil'], undefined, 0, { oil: 2 }],
    ['timestamp,rpm,oil', ['a', 'b'], undefined, 0, { a: 1, b: 2 }],
    ['rpm,at,oil', [], 'at', 1, { rpm: 0, oil: 2 }],
    ['rpm,at,oil', ['rpm'], 'at', 1, { rpm: 0 }],
    [',rpm', [], undefined, 0, { rpm: 1 }],
    ['2026-01-31,5', ['rpm'], undefined, 0, { rpm: 1 }],
    ['1700000000,5,6', ['rpm', 'oil'], undefined, 0, { rpm: 1, oil: 2 }],
    ['timestamp,timestamp', [], undefined, 0, { timestamp: 1 }],
  ])('%s with --metric %j and --time %s', (header, metrics, time, at, values) => {
    const columns = readColumns(first(header), { metrics, time });
    expect(columns.time).toBe(at);
    expect(Object.fromEntries(columns.values.map((column) => [column.metric, column.at]))).toEqual(values);
  });

  it.each([
    ['timestamp', [], undefined, 'has one column'],
    ['timestamp,rpm,oil', ['rpm', 'ail'], 'at', 'no column "at" for --time'],
    ['timestamp,rpm,oil', ['ail'], undefined, '--metric must name columns (the header has "timestamp", "rpm", "oil")'],
    ['timestamp,rpm,', [], undefined, 'metric'],
    ['timestamp,rpm,rpm', [], undefined, 'Two columns would be the metric "rpm"'],
    ['2026-01-31,5,6', ['rpm'], undefined, 'has no header: give --metric once for each value column, 2 in all'],
  ])('%s with --metric %j and --time %s is refused', (header, metrics, time, reason) => {
    expect(() => readColumns(first(header), { metrics, time })).toThrow(reason);
  });

  it('a first row that begins like a time is data, even when the time is wrong', () => {
    expect(isHeader(first('2013-13-45,5'), { metrics: ['rpm'], time: undefined })).toBe(false);
  });
});
