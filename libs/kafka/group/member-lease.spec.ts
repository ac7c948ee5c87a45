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

  it('lets what is under way end within two seconds once the group wants the partitions back, and is quiet then', async () => {
    const lease = new MemberLease(monotonicMs, 5_000);
    const end = Promise.withResolvers<void>();
    let goesOn = (): boolean => false;
    const effect = lease.during((asked) => {
      goesOn = asked;
      return end.promise;
    });
    lease.lose();
    pass(1_900, 1_900);
    expect([lease.held(), goesOn(), lease.isQuiet]).toEqual([false, true, false]);
    pass(200, 200);
    expect([goesOn(), lease.isQuiet]).toEqual([false, false]);
    end.resolve();
    await effect;
    await lease.quiet();
    expect(lease.isQuiet).toBe(true);
  });

  it('waits for what does not end three seconds at most, and lets nothing go on without a group', () => {
    const lease = new MemberLease(monotonicMs, 1_000);
    let goesOn = (): boolean => false;
    void lease.during((asked) => {
      goesOn = asked;
      return new Promise(() => undefined);
    });
    pass(1_100, 1_100);
    expect([goesOn(), lease.held(), lease.isQuiet]).toEqual([false, false, false]);
    pass(3_100, 3_100);
    expect(lease.isQuiet).toBe(true);
  });

  it('is lost when the group says so', () => {
    const lease = new MemberLease(monotonicMs, 1_000);
    lease.lose();
    lease.heard(monotonicMs);
    expect(lease.held()).toBe(false);
  });
});
