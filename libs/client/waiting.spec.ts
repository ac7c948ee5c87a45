import { describe, expect, it } from '@jest/globals';
import { bell, onAbort, pause, until } from './waiting.js';

describe('a pause', () => {
  it('ends at once with the reason of the signal, before and meanwhile', async () => {
    const reason = new Error('enough');
    await expect(pause(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const paused = pause(60_000, controller.signal);
    controller.abort(reason);
    await expect(paused).rejects.toBe(reason);
  });
});

describe('a wait for a promise', () => {
  it('is as long as the promise takes, and no longer than the signal says', async () => {
    const { signal } = new AbortController();
    expect(await until(Promise.resolve(7), undefined)).toBe(7);
    expect(await until(Promise.resolve(7), signal)).toBe(7);
    await expect(until(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
    await expect(until(new Promise(() => undefined), AbortSignal.abort(new Error('enough')))).rejects.toThrow('enough');
  });

  it('leaves nothing at the signal that it has let go of', () => {
    const controller = new AbortController();
    const heard: unknown[] = [];
    onAbort(controller.signal, (reason) => heard.push(reason));
    onAbort(controller.signal, () => heard.push('let go'))();
    controller.abort('enough');
    expect(heard).toEqual(['enough']);
  });
});

describe('a bell', () => {
  it('is heard while one waits, and once by the next who waits', async () => {
    const { ring, wait } = bell();
    const heard = wait(60_000);
    ring();
    await heard;
    ring();
    ring();
    await wait(60_000);
    const beganMs = performance.now();
    await wait(30);
    expect(performance.now() - beganMs).toBeGreaterThan(25);
  });
});
