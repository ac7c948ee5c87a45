import { describe, expect, it } from '@jest/globals';
import { ByteReader, ByteWriter } from './bytes.js';
import { asDoubles, readTags, readTimes, readValues, writeTags, writeSums, writeTimes, writeValues } from './columns.js';

const valuesBack = (values: readonly number[]) => {
  const out = new ByteWriter();
  const mode = writeValues(out, Float64Array.from(values), 0, values.length);
  const into = new Float64Array(values.length);
  const reader = new ByteReader(out.written());
  readValues(reader, mode, values.length, into, 0);
  return { mode, values: [...into], left: out.length - reader.at };
};

describe('a column of values', () => {
  it.each([
    [[1, 2, 3], 0],
    [[0.1, 0.25, -17.5], 2],
    [[21.5, 21.4375, 1e6], 4],
    [[1e-9, 123456.789], 9],
    [[1e-10], asDoubles],
    [[1 / 3, 2], asDoubles],
    [[1e300], asDoubles],
    [[5e-324, -5e-324], asDoubles],
    [[Number.MAX_VALUE, -Number.MAX_VALUE], asDoubles],
    [[2 ** 51, -(2 ** 51), 0, 2 ** 51 - 1], 0],
    [[2 ** 51 + 1], asDoubles],
    [[2 ** 31, -(2 ** 31), 2 ** 30, 2 ** 28, 2 ** 27, 1], 0],
    [[0.1 + 0.2], asDoubles],
    [[], 0],
  ])('%j reads back as it was, with mode %i', (values, mode) => {
    expect(valuesBack(values)).toEqual({ mode, values, left: 0 });
  });

  it('reads -0 back as 0', () => {
    expect(valuesBack([-0]).values).toEqual([0]);
  });

  it('reads back what any bits of a double say', () => {
    let seed = 42;
    const bits = Uint32Array.from({ length: 20_000 }, () => (seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0));
    const doubles = [...new Float64Array(bits.buffer)].filter(Number.isFinite);
    for (let at = 0; at < doubles.length; at += 7) {
      const some = doubles.slice(at, at + 7);
      expect(valuesBack(some).values).toEqual(some);
    }
  });
});

describe('a column of sums', () => {
  it.each([
    [[0.1 + 0.2, 0.7 + 0.1], 1, [0.3, 0.8]],
    [[1.05], 1, [1.05]],
    [[Number.NaN], 1, [Number.NaN]],
    [[Infinity], 1, [Infinity]],
  ])('of %j with %i decimals reads back as %j', (sums, decimals, expected) => {
    const out = new ByteWriter();
    const mode = writeSums(out, Float64Array.from(sums), 0, sums.length, decimals);
    const into = new Float64Array(sums.length);
    readValues(new ByteReader(out.written()), mode, sums.length, into, 0);
    expect([...into]).toEqual(expected);
  });
});

describe('a column of times', () => {
  it.each([
    [[1_700_000_000_000], true],
    [[1, 253_402_300_799_999], true],
    [[1000, 2000, 3000], true],
    [[1000, 2001, 3000, 253_402_300_799_999], false],
    [[-5, 0, 1, 90], false],
  ])('%j reads back as it was', (times, even) => {
    const column = Float64Array.from(times);
    const into = new Float64Array(times.length);
    const out = new ByteWriter();
    expect(writeTimes(out, column, 0, column.length)).toBe(!even);
    const reader = new ByteReader(out.written());
    readTimes(reader, !even, { firstMs: times[0]!, lastMs: times.at(-1)!, count: times.length }, into, 0);
    expect([...into]).toEqual(times);
    expect(reader.at).toBe(out.length);
  });
});

it('a column of tags reads back as it was', () => {
  const tagSets = ['', '[["core","0"]]', '[["é","\u{1F600}"]]', 'x'.repeat(9000)];
  const column = Uint32Array.of(0, 0, 0, 1, 1, 0, 3, 2);
  const out = new ByteWriter();
  writeTags(out, tagSets, column, 0, column.length);
  const into = new Uint32Array(column.length);
  const reader = new ByteReader(out.written());
  expect(readTags(reader, column.length, into)).toEqual(tagSets);
  expect(into).toEqual(column);
  expect(reader.at).toBe(out.length);
});
