import { describe, expect, it } from '@jest/globals';
import { HeadwaterError } from './error.js';
import { mayPass, pauseMs } from './retry.js';

const answered = (status: number, retryAfterMs?: number): HeadwaterError => new HeadwaterError('no', 'over_rate', { status, retryAfterMs });

describe('a failure that may pass', () => {
  it.each([
    [true, 'the network', new HeadwaterError('no', 'no_answer')],
    [true, 'a server that takes too long', new HeadwaterError('no', 'timeout')],
    ...[429, 502, 503, 504].map((status) => [true, `${status}`, answered(status)] as const),
    ...[308, 400, 401, 402, 403, 404, 413, 500].map((status) => [false, `${status}`, answered(status)] as const),
    [false, 'a wrong argument', new HeadwaterError('no', 'invalid_argument')],
    [false, 'any other error', new TypeError('no')],
  ])('%s: %s', (expected, _, error) => {
    expect(mayPass(error)).toBe(expected);
  });
});

describe('the pause before another try', () => {
  it.each([
    // tries, Retry-After, at least, at most
    [0, undefined, 0, 500],
    [1, undefined, 0, 1000],
    [5, undefined, 0, 16_000],
    [60, undefined, 0, 30_000],
    [0, 7000, 7000, 7500],
    [60, 7000, 7000, 37_000],
  ])('after %i tries and Retry-After %s is from %i to %i ms', (tries, retryAfterMs, least, most) => {
    const pauses = Array.from({ length: 200 }, () => pauseMs(answered(503, retryAfterMs), tries));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(least);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(most);
    expect(new Set(pauses).size).toBeGreaterThan(100);
  });
});
