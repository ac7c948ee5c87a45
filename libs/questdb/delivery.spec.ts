import { describe, expect, it } from '@jest/globals';
import { setImmediate } from 'node:timers/promises';
import { forever } from '#model';
import { Delivery, Figures, NotAccepted, Outage, Signal } from './delivery.js';

const body = [Buffer.from('t,a=b value=1 1\n')];

/** A store that accepts a body, or refuses it with this outcome, one after the other; the last of these is for all that come after it. */
function aDelivery(...outcomes: readonly ('accepted' | 'none' | 'unknown')[]) {
  const done: string[] = [];
  const send = (): Promise<void> => {
    const outcome = outcomes[Math.min(done.filter((one) => one !== 'visible').length, outcomes.length - 1)]!;
    done.push(outcome);
    return outcome === 'accepted' ? Promise.resolve() : Promise.reject(new NotAccepted(outcome, 'no'));
  };
  const of = (): Promise<void> => Promise.resolve(void done.push('visible'));
  const changed = new Signal();
  const sink = { send };
  const path = { visibility: { of }, outage: new Outage(), figures: new Figures(), tables: ['t'] };
  return { delivery: new Delivery(path, forever, changed), sink, changed, done };
}
const giveUp = (): void => {
  throw new Error('given up');
};

describe('A body after one that was given up', () => {
  it.each([
    ['none', ['visible', 'none', 'accepted']],
    ['unknown', ['visible', 'unknown', 'visible', 'accepted']],
  ] as const)('with the outcome %s: %j', async (outcome, expected) => {
    const { delivery, sink, done } = aDelivery(outcome, 'accepted');
    await expect(delivery.send(sink, body, giveUp)).rejects.toThrow('given up');
    await delivery.send(sink, body, giveUp);
    expect(done).toEqual(expected);
  });
});

it('A body that is refused is tried again in a rhythm that no new rows hurry, and is dropped at once in the end', async () => {
  const { delivery, sink, changed, done } = aDelivery('none');
  const dropped = delivery.send(sink, body).catch((error: unknown) => error);
  for (let rows = 0; rows < 100; rows++) {
    await setImmediate();
    changed.ring();
  }
  delivery.end();
  await expect(dropped).resolves.toMatchObject({ code: 'store_unavailable' });
  expect(done.length).toBeLessThan(10);
});
