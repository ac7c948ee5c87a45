import { describe, expect, it } from '@jest/globals';
import { checkMetric, checkSourceId, parseLimit, parseMetricsList } from './parameters.js';

describe('parseLimit', () => {
  it.each([
    ['1', 1],
    ['10000', 10_000],
    ['00500', 500],
  ])('%s is %i', (text, limit) => {
    expect(parseLimit(text, 'limit')).toBe(limit);
  });

  it.each(['', '0', '-1', '+1', '1.5', '1e3', '0x10', ' 1', '1\n', '10001', '100000', '9'.repeat(400), 'ten'])('refuses %j', (text) => {
    expect(() => parseLimit(text, 'tail')).toThrow(
      expect.objectContaining({ code: 'invalid_limit', message: expect.stringContaining('tail') }),
    );
  });
});

describe('parseMetricsList', () => {
  it.each([
    [[], undefined],
    [[''], undefined],
    [[',', ' , '], undefined],
    [['a'], ['a']],
    [['a,b'], ['a', 'b']],
    [['b,a,b'], ['b', 'a']],
    [['a,,b,'], ['a', 'b']],
    [
      ['a,b', 'c', 'a'],
      ['a', 'b', 'c'],
    ],
    [['  a , b b,c  '], ['a', 'b b', 'c']],
    [['\ta,\u00a0b'], ['\ta', '\u00a0b']],
    [['a\\,b,c'], ['a,b', 'c']],
    [['\\,,\\,\\,'], [',', ',,']],
    [['a\\\\,b'], ['a\\,b']],
    [['\\a,b\\c,d\\'], ['\\a', 'b\\c', 'd\\']],
    [
      ['a\\', 'b'],
      ['a\\', 'b'],
    ],
    [['%2C'], ['%2C']],
    [['__proto__'], ['__proto__']],
  ])('%j names %j', (lists, names) => {
    expect(parseMetricsList(lists)).toEqual(names);
  });

  it.each(['\0', 'a,\ud800', 'a'.repeat(257)])('refuses %j', (list) => {
    expect(() => parseMetricsList([list])).toThrow(expect.objectContaining({ code: 'invalid_metric' }));
  });
});

describe('names', () => {
  it.each(['a', '7', 'A.b_c:d@e+f-1', 'x'.repeat(256)])('%j is a source id', (text) => {
    expect(checkSourceId(text)).toBe(text);
  });

  it.each(['', '.', '..', '../a', '-a', 'a b', 'a/b', 'a%2f', 'a\0', 'a\n', 'é', 'x'.repeat(257)])('%j is no source id', (text) => {
    expect(() => checkSourceId(text)).toThrow(expect.objectContaining({ code: 'invalid_source_id' }));
  });

  it.each(['a', ' ', 'ü,"\n', '😀'.repeat(64)])('%j is a metric', (text) => {
    expect(checkMetric(text)).toBe(text);
  });

  it.each(['', '\0', '\udc00', '😀'.repeat(64) + 'a'])('%j is no metric', (text) => {
    expect(() => checkMetric(text)).toThrow(expect.objectContaining({ code: 'invalid_metric' }));
  });
});
