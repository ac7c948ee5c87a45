import { expect, it, jest } from '@jest/globals';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { inTurns } from './in-turns.js';

/** Steps that take longer than one turn may, each of which notes its name. */
function* slow(name: string, steps: number, taken: string[]): Generator<void, string> {
  for (let step = 0; step < steps; step++) {
    if (step > 0) yield;
    const endMs = performance.now() + 6;
    while (performance.now() < endMs);
    taken.push(name);
  }
  return name;
}

it('Takes the first step at once, and between slow steps lets all else go on', async () => {
  const taken: string[] = [];
  const note = (): void => {
    taken.push('else');
    if (taken.length < 5) setImmediate(note);
  };
  const result = inTurns(slow('a', 3, taken));
  expect(taken).toEqual(['a']);
  setImmediate(note);
  await expect(result).resolves.toBe('a');
  expect(taken).toEqual(['a', 'else', 'a', 'else', 'a']);
});

it('One work at a time takes steps in a turn of the event loop', async () => {
  const taken: string[] = [];
  const turn = (): void => {
    taken.push('|');
    if (taken.length < 12) setImmediate(turn);
  };
  setImmediate(turn);
  await Promise.all(['a', 'b'].map((name) => inTurns(slow(name, 3, taken))));
  expect(taken.slice(0, 10).join('')).toBe('ab|a|b|a|b');
});

it('Quick steps of several works share a turn of the event loop, and hold it no longer than those of one', async () => {
  let nowMs = performance.now();
  const clock = jest.spyOn(performance, 'now').mockImplementation(() => nowMs);
  const steps: number[] = [];
  let taken = 0;
  const quick = function* (): Generator<void, void> {
    yield;
    nowMs += 1;
    taken++;
  };
  const watch = async (): Promise<void> => {
    for (let turn = 0; turn < 50; turn++) {
      await nextTurn();
      steps.push(taken);
      taken = 0;
    }
  };
  await Promise.all([watch(), ...Array.from({ length: 40 }, () => inTurns(quick()))]);
  clock.mockRestore();
  expect(steps.reduce((sum, count) => sum + count)).toBe(40);
  expect(Math.max(...steps)).toBe(4);
  expect(steps.filter((count) => count > 0).length).toBe(10);
});

it('Rejects as the work throws, at once and later', async () => {
  const failing = function* (steps: number): Generator<void, never> {
    for (; steps > 0; steps--) yield;
    throw new Error('broken');
  };
  await expect(inTurns(failing(0))).rejects.toThrow('broken');
  await expect(inTurns(failing(2))).rejects.toThrow('broken');
});
