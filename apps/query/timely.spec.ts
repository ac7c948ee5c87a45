import { expect, it } from '@jest/globals';
import { timely } from './timely.js';

it('gives what comes in time', async () => {
  expect(await timely(Promise.resolve(7))).toBe(7);
});

it('gives up on what does not', async () => {
  await expect(timely(new Promise(() => {}), 1)).rejects.toMatchObject({ code: 'store_unavailable' });
});

it('rejects with the reason of a failure', async () => {
  await expect(timely(Promise.reject(new Error('mine')))).rejects.toThrow('mine');
});
