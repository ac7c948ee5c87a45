import { describe, expect, it } from '@jest/globals';
import { lookMsOf } from './session.js';

describe('a member looks whether it is to send a heartbeat', () => {
  it.each([
    ['every second', 10_000, 1_000],
    ['not less often where sessions are long', 300_000, 1_000],
    ['ten times in a short session', 1_000, 100],
  ])('%s', (_, sessionMs, ms) => {
    expect(lookMsOf(sessionMs)).toBe(ms);
  });
});
