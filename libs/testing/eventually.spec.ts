import { describe, expect, it } from '@jest/globals';
import { eventually, patienceMs } from './eventually.js';

const shortMs = 30;

describe('eventually', () => {
  it('gives what the first good attempt gave', async () => {
    let attempts = 0;
    const third = (): number => {
      if (++attempts < 3) throw new Error('not yet');
      return attempts;
    };
    expect(await eventually(third)).toBe(3);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('the lamp is off')), 'the lamp is off'],
    ['hangs', () => new Promise<never>(() => undefined), 'the first attempt does not end'],
  ])('tells why when an attempt %s until the deadline', async (_, attempt, why) => {
    await expect(eventually<never>(attempt, shortMs)).rejects.toThrow(why);
  });

  it('tells the last error when a later attempt hangs', async () => {
    let attempts = 0;
    const hangsAtTheSecond = async (): Promise<never> => {
      if (++attempts === 1) throw new Error('the lamp is off');
      return new Promise<never>(() => undefined);
    };
    await expect(eventually(hangsAtTheSecond, shortMs)).rejects.toThrow('the lamp is off');
  });

  it('gives up before the test does', async () => {
    const config = (await import(new URL('../../../jest.config.js', import.meta.url).href)) as { default: { testTimeout: number } };
    expect(2 * patienceMs).toBeLessThan(config.default.testTimeout);
  });
});
