import { describe, expect, it } from '@jest/globals';
import { automaticInterval, parseInterval, parseRollupInterval } from './window.js';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

describe('automaticInterval', () => {
  it.each([
    [1, 'raw', '1m'],
    [10 * minute - 1, 'raw', '1m'],
    [10 * minute, '1m', '1m'],
    [hour, '1m', '1m'],
    [day, '1m', '1m'],
    [52 * hour, '1m', '1m'],
    [53 * hour, '10m', '10m'],
    [7 * day, '10m', '10m'],
    [17 * day, '10m', '10m'],
    [18 * day, '1h', '1h'],
    [30 * day, '1h', '1h'],
    [204 * day, '1h', '1h'],
    [205 * day, '1d', '1d'],
    [365 * day, '1d', '1d'],
    [36_500 * day, '1d', '1d'],
  ] as const)('of %i ms is %s, for the fleet %s', (sizeMs, interval, fleet) => {
    const window = { startMs: 1_700_000_000_000, endMs: 1_700_000_000_000 + sizeMs };
    expect([automaticInterval(window), automaticInterval(window, '1m')]).toEqual([interval, fleet]);
  });
});

describe('parseInterval', () => {
  it.each(['raw', '1m', '10m', '1h', '1d'])('takes %s', (text) => {
    expect(parseInterval(text)).toBe(text);
  });

  it.each(['', '5m', '1M', 'RAW', ' 1m', '60', 'toString', '__proto__'])('refuses %j', (text) => {
    expect(() => parseInterval(text)).toThrow(expect.objectContaining({ code: 'invalid_interval' }));
  });

  it('takes raw for points alone', () => {
    expect(parseRollupInterval('10m')).toBe('10m');
    expect(() => parseRollupInterval('raw')).toThrow('Use one of 1m, 10m, 1h, 1d.');
  });
});
