import { nextTick } from 'node:process';
import { setImmediate } from 'node:timers/promises';
import { oneAtATime } from '#model';

/** How long work that waits for its turn may hold one turn of the event loop, all of it together. A step should take a millisecond or two at most. */
const maxHoldMs = 4;

const inLine = oneAtATime();
let endMs = 0;

/**
 * Resolves when whoever waited before has done a step, in a turn of the event loop that has time left for another. What it is waited for is to be
 * done at once, or in the next tick.
 */
export const inTurn = (): Promise<void> =>
  inLine(async () => {
    await new Promise<void>(nextTick);
    if (performance.now() < endMs) return;
    await setImmediate();
    endMs = performance.now() + maxHoldMs;
  });

/**
 * Takes steps until the work is done, for long work of a store on the event loop. The first step is taken at once, so that short work waits
 * for nothing. Rejects as the work throws.
 */
export async function inTurns<T>(work: Iterator<unknown, T>): Promise<T> {
  let step = work.next();
  while (!step.done) {
    await inTurn();
    do step = work.next();
    while (!step.done && performance.now() < endMs);
  }
  return step.value;
}
