import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Caller, OrganizationLimits } from '#model';
import { Metrics } from './metrics.js';
import type { Organizations } from './organizations.js';
import { Rates } from './rates.js';

let nowMs = 0;
let limits: OrganizationLimits = {};
let metrics: Metrics;
let rates: Rates;
const caller = (keyId: string, orgId = 'o'): Caller => ({ orgId, keyId, scopes: ['write'] });
const refused = (who: Caller): unknown => {
  try {
    rates.admit(who);
    return undefined;
  } catch (error) {
    return error;
  }
};

beforeEach(() => {
  nowMs = 1_700_000_000_000;
  limits = {};
  metrics = new Metrics();
  rates = new Rates({ limits: (orgId: string) => (orgId === 'o' ? limits : {}) } as Organizations, () => nowMs, metrics);
});

describe('the rates of an organization', () => {
  it('are without a limit as long as nobody sets one', () => {
    for (let at = 0; at < 1000; at++) {
      expect(refused(caller('k'))).toBeUndefined();
      rates.charge(caller('k'), 'points', 10_000);
    }
  });

  it('say how long to wait, which is right to the second', () => {
    limits = { points_per_s: 100 };
    rates.charge(caller('k'), 'points', 1250);
    expect(refused(caller('k'))).toMatchObject({
      code: 'over_rate',
      retryAfterS: 3,
      message: 'The organization of this key may send 100 points a second: go on in 3 seconds.',
    });
    expect(refused(caller('another'))).toMatchObject({ retryAfterS: 3 });
    expect(refused(caller('k', 'p'))).toBeUndefined();
    nowMs += 2400;
    expect(refused(caller('k'))).toMatchObject({ retryAfterS: 1 });
    nowMs += 600;
    expect(refused(caller('k'))).toBeUndefined();
  });

  it('count requests, those that are refused not', () => {
    limits = { requests_per_s: 2 };
    let passed = 0;
    for (let at = 0; at < 1000; at++, nowMs += 100) if (refused(caller('k')) === undefined) passed++;
    expect(passed).toBeGreaterThanOrEqual(200);
    expect(passed).toBeLessThanOrEqual(221);
  });

  it('are of each key where the limit is', () => {
    limits = { key_bytes_per_s: 1000 };
    rates.charge(caller('k'), 'bytes', 20_000);
    expect(refused(caller('k'))).toMatchObject({ message: 'This key may send 1,000 bytes a second: go on in 10 seconds.' });
    expect(refused(caller('another'))).toBeUndefined();
  });

  it('tell of the longest wait', () => {
    limits = { points_per_s: 10, bytes_per_s: 1000 };
    rates.charge(caller('k'), 'points', 200);
    rates.charge(caller('k'), 'bytes', 40_000);
    expect(refused(caller('k'))).toMatchObject({ retryAfterS: 30, message: expect.stringContaining('1,000 bytes') });
  });

  it('hold from when they are set, and no longer than that', () => {
    rates.charge(caller('k'), 'points', 1_000_000);
    limits = { points_per_s: 10 };
    expect(refused(caller('k'))).toBeUndefined();
    rates.charge(caller('k'), 'points', 1_000_000);
    expect(refused(caller('k'))).toBeDefined();
    limits = {};
    expect(refused(caller('k'))).toBeUndefined();
  });

  it('are counted for the operator', () => {
    limits = { points_per_s: 10 };
    rates.charge(caller('k'), 'points', 1000);
    refused(caller('k'));
    const [metric] = metrics.all;
    expect(metric?.read()).toContainEqual({ labels: { limit: 'points_per_s' }, value: 1 });
  });
});
