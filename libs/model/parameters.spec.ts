import { describe, expect, it } from '@jest/globals';
import { checkMetric, checkSourceId } from './names.js';
import { parseLimit, parseMetricsList } from './parameters.js';

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
    ['', undefined],
    ['last=1h', undefined],
    ['metrics', undefined],
    ['metrics=', undefined],
    ['metrics=,', undefined],
    ['xmetrics=a', undefined],
    ['metrics=a', ['a']],
    ['last=1h&metrics=a,b&interval=1m', ['a', 'b']],
    ['metrics=b,a,b', ['b', 'a']],
    ['metrics=a,,b,', ['a', 'b']],
    ['metrics=a&metrics=b', ['a', 'b']],
    ['%6Detrics=a', ['a']],
    ['metrics=a%2Cb,c', ['a,b', 'c']],
    ['metrics=a=b,c', ['a=b', 'c']],
    ['metrics=a+b,a%2Bb,a%20c', ['a b', 'a+b', 'a c']],
    ['metrics=%E2%82%AC,%f0%9f%98%80', ['€', '😀']],
    ['metrics=%0A', ['\n']],
    ['metrics=__proto__', ['__proto__']],
  ])('%j names %j', (query, names) => {
    expect(parseMetricsList(query)).toEqual(names);
  });

  it.each([
    ['metrics=%', 'invalid_parameter'],
    ['metrics=%zz', 'invalid_parameter'],
    ['metrics=a,%c0%af', 'invalid_parameter'],
    ['metrics=%ed%a0%80', 'invalid_parameter'],
    ['metrics=%00', 'invalid_metric'],
    [`metrics=${'a'.repeat(257)}`, 'invalid_metric'],
  ])('refuses %j with %s', (query, code) => {
    expect(() => parseMetricsList(query)).toThrow(expect.objectContaining({ code }));
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
