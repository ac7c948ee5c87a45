import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { MemberLease } from './member-lease.js';

describe('a lease of 1000 ms', () => {
  let [monotonicMs, wallMs] = [0, 0];
  beforeEach(() => {
    [monotonicMs, wallMs] = [5_000, 1_700_000_000_000];
    jest.spyOn(performance, 'now').mockImplementation(() => monotonicMs);
    jest.spyOn(Date, 'now').mockImplementation(() => wallMs);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  const pass = (monotonic: number, wall: number): void => {
    monotonicMs += monotonic;
    wallMs += wall;
  };

  it.each([
    ['while both clocks go on', 900, 900, true],
    ['too long', 1_100, 1_100, false],
    ['while the machine was suspended, which the monotonic clock does not see', 10, 60_000, false],
    ['while the wall clock was put back', 900, -60_000, true],
    ['too long, with the wall clock put back', 1_100, -60_000, false],
  ])('%s', (_, monotonic, wall, held) => {
    const lease = new MemberLease(monotonicMs, 1_000);
    pass(monotonic, wall);
    expect(lease.held()).toBe(held);
  });

  it('goes on when the group has answered', () => {
    const lease = new MemberLease(monotonicMs, 1_000);
    pass(900, 900);
    lease.heard(monotonicMs - 100);
    pass(800, 800);
    expect(lease.held()).toBe(true);
    pass(200, 200);
    expect(lease.held()).toBe(false);
  });

  it('counts from the sending of what was answered, by either clock', () => {
    const lease = new MemberLease(monotonicMs, 1_000);
    pass(500, 500);
    lease.heard(monotonicMs - 400);
    pass(0, 700);
    expect(lease.held()).toBe(false);
  });

  it('is lost when the group says so', () => {
    const lease = new MemberLease(monotonicMs, 1_000);
    lease.lose();
    lease.heard(monotonicMs);
    expect(lease.held()).toBe(false);
  });
});
