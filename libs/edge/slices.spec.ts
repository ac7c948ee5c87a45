import { describe, expect, it, jest } from '@jest/globals';
import { Slices } from './slices.js';

/** Work of so many steps, each of which holds the event loop for some milliseconds. */
function* work(steps: number, ms: number, step: () => void = () => {}): Generator<void, number> {
  for (let at = 0; at < steps; at++) {
    for (const endMs = performance.now() + ms; performance.now() < endMs;);
    step();
    yield;
  }
  return steps;
}

describe('work in slices', () => {
  it('of one step is done at once', () => {
    let taken = 0;
    const step = (): IteratorResult<void, number> => {
      taken++;
      return { done: true, value: 1 };
    };
    expect(new Slices().finish('a', { next: step })).toBe(1);
    expect(taken).toBe(1);
  });

  it('lets the event loop go on', async () => {
    const slices = new Slices();
    let turns = 0;
    const turn = (): void => {
      turns++;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    await Promise.all(Array.from({ length: 8 }, async () => slices.finish('a', work(10, 2))));
    clearImmediate(next);
    expect(turns).toBeGreaterThan(5);
  });

  it('begins at once only while that does not hold the event loop for long', async () => {
    const slices = new Slices();
    let begun = 0;
    const all = Array.from({ length: 16 }, async () =>
      slices.finish(
        'a',
        work(2, 4, () => begun++),
      ),
    );
    expect(begun).toBeLessThan(8);
    await Promise.all(all);
    expect(begun).toBe(32);
  });

  it('holds the event loop no longer when much of it begins in the same turn', async () => {
    let nowMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
    const slices = new Slices();
    const all = Array.from({ length: 16 }, async () =>
      slices.finish(
        'a',
        work(4, 0, () => (nowMs += 1)),
      ),
    );
    let [beganMs, longestMs] = [0, 0];
    const turn = (): void => {
      longestMs = Math.max(longestMs, nowMs - beganMs);
      beganMs = nowMs;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    await Promise.all(all);
    clearImmediate(next);
    clock.mockRestore();
    expect(nowMs).toBe(64);
    // Where the first steps take all the time there is, slices still go on for a little.
    expect(longestMs).toBeLessThan(12);
  });

  it('of organizations goes on in turns', async () => {
    const slices = new Slices();
    const steps: string[] = [];
    const of = (orgId: string, count: number): number | Promise<number> =>
      slices.finish(
        orgId,
        work(count, 0, () => steps.push(orgId)),
      );
    await Promise.all([of('a', 20), of('a', 20), of('b', 4)]);
    expect(steps.lastIndexOf('b')).toBeLessThan(12);
  });

  it('rejects as the work throws, and goes on with the rest', async () => {
    const slices = new Slices();
    const broken = slices.finish(
      'a',
      (function* (): Generator<void, number> {
        yield;
        throw new Error('broken');
      })(),
    );
    await expect(broken).rejects.toThrow('broken');
    expect(await slices.finish('a', work(3, 0))).toBe(3);
  });
});
