import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { JsonText } from './json-text.js';

const written = (values: readonly number[]): string => new JsonText().column(Float64Array.from(values)).bytes().toString();

describe('a column is written as JSON.stringify prints it', () => {
  it.each([
    [[]],
    [[0, -0, 1, -1, 9, 10, 99, 100, 999_999_999, 1e9, 1_000_000_001, 1_700_000_000_000]],
    [[999_999_999_999_999, 1e15, 1e15 + 1, 2 ** 53, -(2 ** 53), 1e20, 1e21, 123e30]],
    [[1 / 3]],
    [[-1e-9]],
    [[0.1, -0.1, 0.5, 1.05, 21.5, 0.000001, 0.0000011, 1e-7, 5e-324, -1.25e-9]],
    [[0.1 + 0.2, 1 / 3, 999_999_999.999999, 999_999_999.9999999, 123_456_789.123456, 1_000_000_000.5]],
    [[Number.MAX_VALUE, -Number.MAX_VALUE, Number.MIN_VALUE, Number.EPSILON, Number.MAX_SAFE_INTEGER]],
    [[21.299999237060547, 0.30000001192092896]],
  ])('%j', (values) => {
    expect(written(values)).toBe(JSON.stringify(values));
  });

  it('any doubles', () => {
    const double = fc.double({ noNaN: true, noDefaultInfinity: true });
    const decimal = fc.tuple(fc.integer(), fc.integer({ min: 0, max: 12 })).map(([digits, places]) => digits / 10 ** places);
    const integer = fc.maxSafeInteger();
    fc.assert(
      fc.property(fc.array(fc.oneof(double, decimal, integer)), (values) => {
        expect(written(values)).toBe(JSON.stringify(values));
      }),
      { numRuns: 2000 },
    );
  });
});

it('writes texts and strings of any Unicode, and grows', () => {
  const name = '"\\\u0001\u2028héäß🌡️';
  const many = Array.from({ length: 100_000 }, (_, i) => i / 7);
  const text = new JsonText()
    .text('{')
    .string(name)
    .text(':')
    .column(Float64Array.from(many))
    .text(',"b":')
    .string(name.repeat(50_000))
    .text('}');
  expect(JSON.parse(text.bytes().toString())).toEqual({ [name]: many, b: name.repeat(50_000) });
});

it('gives each text memory of its own', () => {
  const first = new JsonText().text('[1]').bytes();
  new JsonText().text('[2]').bytes();
  expect(first.toString()).toBe('[1]');
});
