import { expect, it } from '@jest/globals';
import { inTime } from './in-time.js';

const late = (): Error => new Error('late');

it('gives what comes in time', async () => {
  expect(await inTime(Promise.resolve(7), 10_000, late)).toBe(7);
});

it('gives up on what does not', async () => {
  await expect(inTime(new Promise(() => {}), 1, late)).rejects.toThrow('late');
});

it('rejects with the reason of a failure', async () => {
  await expect(inTime(Promise.reject(new Error('mine')), 10_000, late)).rejects.toThrow('mine');
});
