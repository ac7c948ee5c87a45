import { describe, expect, it } from '@jest/globals';
import { TokenBucket } from './token-bucket.js';

const perS = 100;
const full = (nowMs = 0): TokenBucket => new TokenBucket(perS, nowMs);

describe('a bucket of 100 a second', () => {
  it('lets in what ten seconds bring at once', () => {
    const bucket = full();
    bucket.take(1000);
    expect(bucket.waitMs(0)).toBe(0);
    bucket.take(1);
    expect(bucket.waitMs(0)).toBe(10);
  });

  it('lets a body in that is larger than it, which is paid for by the wait after it', () => {
    const bucket = full();
    expect(bucket.waitMs(0)).toBe(0);
    bucket.take(5000);
    expect(bucket.waitMs(0)).toBe(40_000);
    expect(bucket.waitMs(39_000)).toBe(1000);
    expect(bucket.waitMs(40_000)).toBe(0);
  });

  it('lets in no more than its rate over time, whatever comes', () => {
    const bucket = full();
    let taken = 0;
    for (let nowMs = 0; nowMs < 100_000; nowMs += 7) {
      if (bucket.waitMs(nowMs) > 0) continue;
      bucket.take(30);
      taken += 30;
    }
    expect(taken).toBeGreaterThan(100 * perS);
    expect(taken).toBeLessThanOrEqual(110 * perS + 30);
  });

  it('holds no more after a long pause', () => {
    const bucket = full();
    bucket.take(10);
    expect(bucket.waitMs(3_600_000)).toBe(0);
    bucket.take(1100);
    expect(bucket.waitMs(3_600_000)).toBe(1000);
  });

  it('neither pays off nor forgets when the clock is set back', () => {
    const bucket = full(1_000_000);
    bucket.take(2000);
    expect(bucket.waitMs(1_000_000)).toBe(10_000);
    expect(bucket.waitMs(0)).toBe(10_000);
    expect(bucket.waitMs(4000)).toBe(6000);
  });
});
