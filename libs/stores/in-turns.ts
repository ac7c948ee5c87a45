import { setImmediate } from 'node:timers/promises';
import { oneAtATime } from '#model';

/** How long the steps of one turn may hold the event loop. One step should take a millisecond or two at most. */
const maxHoldMs = 4;

const inLine = oneAtATime();

/** Resolves in a turn of the event loop in which it resolves for nobody else. */
export const ownTurn = (): Promise<void> => inLine(() => setImmediate());

/**
 * Takes steps until the work is done, for long work of a store on the event loop. The first step is taken at once, so that short work waits
 * for nothing; then each turn of the event loop takes steps of one work only, for some milliseconds. Rejects as the work throws.
 */
export async function inTurns<T>(work: Iterator<unknown, T>): Promise<T> {
  let step = work.next();
  while (!step.done) {
    await ownTurn();
    const endMs = performance.now() + maxHoldMs;
    do step = work.next();
    while (!step.done && performance.now() < endMs);
  }
  return step.value;
}
