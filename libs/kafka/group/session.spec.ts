import { describe, expect, it } from '@jest/globals';
import { fetchMsOf } from './session.js';

describe('a fetch of a group', () => {
  it.each([
    ['a second', 10_000, 1_000],
    ['no longer where sessions are long', 300_000, 1_000],
    ['a tenth of a short session, so that heartbeats come in time', 1_000, 100],
  ])('is held for %s', (_, sessionMs, ms) => {
    expect(fetchMsOf(sessionMs)).toBe(ms);
  });
});
