import { describe, expect, it } from '@jest/globals';
import { toUnixMs } from './timestamp.js';

describe('the unit of a time is told by its magnitude', () => {
  it.each([
    ['seconds', 1_700_000_000, 1_700_000_000_000],
    ['seconds with a fraction', 1_700_000_000.1234, 1_700_000_000_123],
    ['the least second', 0.001, 1],
    ['the last second', 253_402_300_799, 253_402_300_799_000],
    ['the first millisecond', 1e12, 1e12],
    ['milliseconds', 1_700_000_000_000, 1_700_000_000_000],
    ['milliseconds, rounded up', 1_700_000_000_000.5, 1_700_000_000_001],
    ['milliseconds, rounded down', 1_700_000_000_000.25, 1_700_000_000_000],
    ['the last millisecond', 99_999_999_999_999, 99_999_999_999_999],
    ['the first microsecond', 1e14, 1e11],
    ['microseconds', 1_700_000_000_000_499, 1_700_000_000_000],
    ['microseconds, rounded up', 1_700_000_000_000_500, 1_700_000_000_001],
    ['the first nanosecond', 1e17, 1e11],
    ['nanoseconds', 1_700_000_000_123e6, 1_700_000_000_123],
  ])('%s', (_, time, timestampMs) => {
    expect(toUnixMs(time)).toBe(timestampMs);
  });
});
